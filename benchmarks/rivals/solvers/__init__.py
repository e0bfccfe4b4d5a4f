"""Libraries: every module has `REQUIRES`, what pip installs for it, and `SOLVERS`.

Without `REQUIRES` it runs in the environment of the benchmark. Libraries are imported when a solver
is called, in the process that has them.
"""
