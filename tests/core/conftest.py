"""Every test of the compiled core is run for every instruction set of the machine."""

import pytest

from onepass import _core

BEST = _core.isa()


@pytest.fixture(params=_core.supported_isas(), scope="module", autouse=True)
def isa(request):
    _core.use_isa(request.param)
    yield request.param
    _core.use_isa(BEST)
