# tests/python/conftest.py: every test runs in a fresh variant, on both backends; with UMBEL_TEST_BACKENDS=cuda, on a GPU alone.
import os

import pytest

import umbel
import umbel.jit as dr

BACKENDS = ["cuda"] if os.environ.get("UMBEL_TEST_BACKENDS") == "cuda" else ["llvm", "interp"]


@pytest.fixture(autouse=True, params=[backend + "_rgb" for backend in BACKENDS])
def variant(request):
    with umbel.set_variant(request.param):
        yield request.param
