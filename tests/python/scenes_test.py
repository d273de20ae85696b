# tests/python/scenes_test.py: the scenes of the repository load and show something.
import os
import sys

import numpy as np
import pytest
import umbel as mi

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "python", "tools"))
import gallery


@pytest.fixture(autouse=True)
def variant():
    """One will do."""
    with mi.set_variant("llvm_rgb"):
        yield


@pytest.mark.parametrize("path", gallery.scene_files(), ids=os.path.basename)
def test_shows_something(path):
    scene = mi.load_file(path)
    params = mi.traverse(scene)
    size = next(k for k in params.keys() if k.endswith("film.size"))
    params[size] = [24, 16]
    params.update()
    image = np.array(mi.render(scene, spp=4))
    assert image.shape[:2] == (16, 24)
    assert np.isfinite(image).all() and image.mean() > 0.005 and image.std() > 0.005
