"""How accurate: excess errors over batch PCA on the same rows.

``python -m benchmarks.accuracy --help``. A method is a file in `methods`, a study a file in
`studies`; being there is all that registers it. The seeds of the studies are for measuring only.
"""
