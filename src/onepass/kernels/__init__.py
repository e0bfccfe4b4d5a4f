"""Compiled arithmetic on small matrices: pure functions of arrays, buffers passed in."""
