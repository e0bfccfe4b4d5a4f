"""Pictures, and pages of HTML that hold them."""

from onepass.report.charts import plot
from onepass.report.model_page import model_page, summary_html
from onepass.report.style import require

__all__ = ["model_page", "plot", "require", "summary_html"]
