"""Means and second moments of the rows: exact, sketched, and along directions that move."""
