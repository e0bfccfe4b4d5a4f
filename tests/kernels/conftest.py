"""How many cases the sweeps take: all of them compiled, a few when run by the interpreter."""

import numba
import pytest


@pytest.fixture(scope="session")
def cases():
    return 500 if numba.config.DISABLE_JIT else 100_000
