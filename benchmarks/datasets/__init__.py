"""Data sets: every module here has a list `DATASETS`."""
