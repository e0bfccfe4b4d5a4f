"""BLAS is taken from SciPy only where its functions have the arguments that the core passes."""

import os
import subprocess
import sys

import pytest

BLAS_INT = "__pyx_t_5scipy_6linalg_11cython_blas_blas_int *"
# Gives a function of SciPy's BLAS the signature that it has with other integers.
CHANGED = """
import ctypes, sys
from scipy.linalg import cython_blas

new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
table, name, integer = cython_blas.__pyx_capi__, sys.argv[1], sys.argv[2]
signature = str(table[name]).split('"')[1]
changed = signature.replace("int *", integer).encode()
table[name] = new(pointer(table[name], signature.encode()), changed, None)
import onepass._core
"""


@pytest.mark.parametrize("integer", ["int64_t *", BLAS_INT, "int *"])
@pytest.mark.parametrize("name", ["dgemm", "sgemm", "dsyrk", "ssyrk", "dtrsm"])
def test_64_bit_integers_are_refused(name, integer):
    ran = subprocess.run(
        [sys.executable, "-c", CHANGED, name, integer],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode == 0) == (integer == "int *"), ran.stderr
    assert integer == "int *" or f"cannot use the BLAS of this SciPy: {name}" in ran.stderr
