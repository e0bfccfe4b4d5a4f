"""Solvers: every module here has a list `SOLVERS`."""
