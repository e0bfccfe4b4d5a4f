"""One thread for small products, whoever asks for it, and as many as before after that."""

import os
import subprocess
import sys

import pytest

NOT_HERE = 77
BEGIN = f"""
import sys
import threading

import numpy
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits
from onepass.kernels.threads import threads_for

def now():
    return {{lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}}

def elsewhere(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread

if now() != {{2}}:
    sys.exit({NOT_HERE})
"""

IN_TURNS = """
ready, go = threading.Event(), threading.Event()
def other():
    with threads_for(5):
        ready.set()
        go.wait()
        found.append(now())
found = []
with threads_for(5):
    found.append(now())
    thread = elsewhere(other)
    ready.wait()
found.append(now())
go.set()
thread.join()
assert found == [{1}] * 3, found
assert now() == {2}
"""

IN_ANOTHER_THREAD = """
found = []
def other():
    with threads_for(5):
        found.append(now())
with threads_for(5):
    found.append(now())
elsewhere(other).join()
assert found == [{1}] * 2, found
assert now() == {2}
"""

OTHERS_LIMITS = """
found = []
def other():
    with threadpool_limits(1):
        found.append(now())
with threads_for(5):
    pass
elsewhere(other).join()
assert found == [{1}], found
assert now() == {2}
"""

WIDE_AND_RAISING = """
with threads_for(100_000):
    assert now() == {2}
try:
    with threads_for(5):
        raise KeyError
except KeyError:
    pass
assert now() == {2}
"""


@pytest.mark.parametrize("script", [IN_TURNS, IN_ANOTHER_THREAD, OTHERS_LIMITS, WIDE_AND_RAISING])
def test_threads(script):
    """In a process of its own, whose BLAS has two threads, however many there are here."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", BEGIN + script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode == NOT_HERE:
        pytest.skip("not a BLAS that this variable is for, or one core")
    assert run.returncode == 0, run.stderr
