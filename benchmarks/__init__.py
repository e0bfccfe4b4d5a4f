"""How fast and how accurate: onepass against its peers, on the same rows, in the same process.

``python -m benchmarks --help`` is the speed benchmark, ``python -m benchmarks.accuracy --help`` the
accuracy study. A solver is a file in `benchmarks.solvers`, a data set a file in
`benchmarks.datasets`; being there is all that registers it.
"""
