"""Rows with missing values: how far `PCA` is from batch EM, and what others do.

*Ratio* is by how much k directions capture less than the best k, divided by the same of batch EM,
which keeps all rows and goes over them until it settles. The budget of `PCA`, how many numbers of
rows with gaps it keeps, is set to a third of the rows where nothing else is said.
"""
