"""How long `PCA` takes beside the least that it could do, and how exact it is where rows are wide.

Times are medians of interleaved turns in one process, of the processor with one thread where
nothing else is said. The floor of a fit is X.T @ X of the same type.
"""
