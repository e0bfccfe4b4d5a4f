"""Methods: every module here has a list `METHODS`."""
