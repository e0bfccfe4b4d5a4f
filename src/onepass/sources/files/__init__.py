"""Files as sources: one module per format."""
