"""Pictures, and pages of HTML that hold them."""
