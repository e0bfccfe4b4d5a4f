"""Pictures of models, and a page of HTML about a model."""

from onepass.report.charts import plot, require_report
from onepass.report.model_page import model_page

__all__ = ["model_page", "plot", "require_report"]
