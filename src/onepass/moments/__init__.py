"""Means and second moments of the rows."""
