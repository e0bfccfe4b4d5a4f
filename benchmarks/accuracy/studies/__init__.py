"""Studies: every module here has a list `STUDIES`."""
