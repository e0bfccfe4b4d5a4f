"""Rows with gaps: what is missing where, and the model that completes them."""
