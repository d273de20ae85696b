"""Helpers for tests with pytest: temporary files, search paths, and comparing variants of one and of many lanes."""
import functools
import inspect
import os
import sys

import pytest

import umbel as mi
import umbel.jit as dr


def find_resource(name):
    """The file of that name in this folder or one around it."""
    folder = os.path.dirname(os.path.realpath(sys._getframe(1).f_code.co_filename))
    while True:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
        if os.path.dirname(folder) == folder:
            raise FileNotFoundError(f"find_resource(): could not find \"{name}\"")
        folder = os.path.dirname(folder)


def fresolver_append_path(function):
    """Decorates a test: files are also looked for in the test's folder, and in the nearest one around it that has
    `resources`."""
    here = os.path.dirname(os.path.realpath(sys._getframe(1).f_code.co_filename))
    root = here
    while not os.path.isdir(os.path.join(root, "resources")) and os.path.dirname(root) != root:
        root = os.path.dirname(root)

    @functools.wraps(function)
    def test(*args, **kwargs):
        before = mi.file_resolver()
        extended = mi.FileResolver(before)
        extended.append(here)
        extended.append(root)
        mi.set_file_resolver(extended)
        try:
            return function(*args, **kwargs)
        finally:
            mi.set_file_resolver(before)
    return test


@pytest.fixture
def tmpfile(request, tmpdir_factory):
    """The name of an empty file that is removed after the test."""
    return make_tmpfile(request, tmpdir_factory)


def make_tmpfile(request, tmpdir_factory):
    """The same as a function."""
    folder = tmpdir_factory.mktemp("tmpdir")
    request.addfinalizer(lambda: folder.remove(rec=1))
    path = str(folder.join("tmpfile"))
    open(path, "a").close()
    return path


def check_vectorization(kernel, arg_dims=(), width=125, atol=1e-6, modes=("llvm_ad",)):
    """Whether a function gives the same for many arguments at once as for one after the other. Called in a scalar variant;
    `arg_dims` are the sizes of the arguments, else their annotations tell."""
    import numpy as np
    scalar = mi.variant()
    assert scalar.startswith("scalar_"), "check_vectorization() starts in a scalar variant"
    vector = [v for v in (m + scalar.removeprefix("scalar") for m in modes) if v in mi.variants()]
    if not arg_dims:
        kinds = [p.annotation for p in inspect.signature(kernel).parameters.values()]
        assert inspect.Parameter.empty not in kinds, "annotate the kernel's arguments, or give arg_dims"
        arg_dims = [1 if k is float else dr.size_v(k) for k in kinds]
    rng = np.random.default_rng(seed=0)
    numbers = [rng.random(width) if d == 1 else rng.random((width, d)) for d in arg_dims]

    def run(pick):
        made = [getattr(mi, "Float" if d == 1 else f"Vector{d}f")(pick(a)) for d, a in zip(arg_dims, numbers)]
        result = kernel(*made)
        return result if isinstance(result, (list, tuple)) else [result]

    def host(value, size):
        a = np.asarray(value.numpy() if isinstance(value, dr.ArrayBase) else value, dtype=np.float64)
        return np.broadcast_to(a.reshape(-1, 1) if size == 1 and a.ndim < 2 else np.atleast_2d(a), (
            a.reshape(-1, 1).shape[0] if size == 1 and a.ndim < 2 else np.atleast_2d(a).shape[0], size))

    one_by_one = [run(lambda a: a[i]) for i in range(width)]
    try:
        for variant in vector:
            mi.set_variant(variant)
            for k, together in enumerate(run(np.transpose)):
                expected = np.concatenate([host(r[k], 1) for r in one_by_one], axis=1)
                assert np.allclose(host(together, width), expected, rtol=1e-3, atol=atol), \
                    f"{variant}: result {k} differs between one and many lanes"
    finally:
        mi.set_variant(scalar)
