"""PCA of other libraries, each in an environment of its own where it needs one.

Every run is a process that reads the same rows from a file, fits a few of them to warm up, and then
all. Solvers take turns. Measured are wall time, processor time, the rise of memory above the rows
(from files: above the libraries), the share of exact PCA's variance that is lost, and how far the
first variance is from the exact one.

A library is a file in `solvers`; being there is all that registers it. OnlinePCA is left out: it is
a package of Julia.
"""
