# tests/python/conftest.py: every test runs in a fresh variant, on both backends.
import pytest

import umbel
import umbel.jit as dr


@pytest.fixture(autouse=True, params=["llvm_rgb", "interp_rgb"])
def variant(request):
    with umbel.set_variant(request.param):
        yield request.param
