"""Arrays and a header <-> a file. Knows no estimator.

The file is a zip archive of ``.npy`` members, which ``numpy.load(path, allow_pickle=False)`` reads.
The member ``header`` is JSON as an array of bytes; the archive's comment is the SHA-256 of all
bytes before it. A sparse matrix is stored as three arrays, ``name.data``, ``name.indices`` and
``name.indptr``, and its shape as an entry of the header.
"""

from onepass.model_file.atomic import replacing
from onepass.model_file.layout import ModelFileError
from onepass.model_file.reading import read
from onepass.model_file.writing import write

__all__ = ["ModelFileError", "read", "replacing", "write"]
