"""Pictures, and pages of HTML that hold them."""

from onepass.report.model_page import model_page, require

__all__ = ["model_page", "require"]
