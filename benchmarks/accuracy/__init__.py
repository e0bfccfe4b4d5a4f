"""How accurate: losses of `PCA` and its peers beside those of batch PCA on the same rows.

``python -m benchmarks.accuracy --help``. A study is an entry of a list `STUDIES` in a file in
`studies`; being there is all that registers it. The seeds of the studies are for measuring only.
"""
