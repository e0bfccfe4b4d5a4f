"""Pictures of models, and a page of HTML about a model."""

from onepass.report.charts import plot
from onepass.report.model_page import model_page
from onepass.report.style import require_report

__all__ = ["model_page", "plot", "require_report"]
