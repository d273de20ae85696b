# tests/python/notebook_test.py: what notebooks show of scenes, parameters and images, and while one waits.
import re
import sys
import types
from html.parser import HTMLParser

import pytest

import umbel as mi
import umbel.jit as dr


@pytest.fixture
def notebook(monkeypatch):
    """A notebook that keeps what its cells showed: [[first text, second text, ...] for each cell]."""
    cells = []

    class Handle:
        def __init__(self, text):
            self.texts = [text]
            cells.append(self.texts)

        def update(self, text):
            self.texts.append(text)
    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, lambda text, display_id=False: Handle(text)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    return cells


class Balanced(HTMLParser):
    """Complains of elements that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_scenes_are_trees_with_sizes():
    scene = mi.load_dict(mi.cornell_box())
    text = scene._repr_html_()
    assert Balanced(text).seen.count("details") == 4
    words = re.sub("<[^>]*>", "", text)
    assert "Scene of 8 shapes" in words and "256 × 256 pixels" in words and "floor" in words and "material diffuse" in words
    many = mi.load_dict({"type": "scene", **{f"<{i}>": {"type": "sphere"} for i in range(300)}})._repr_html_()
    assert len(many) < 30000 and "and 200 more" in many and "&lt;1&gt;" in many
    Balanced(many)


def test_parameters_are_tables():
    params = mi.traverse(mi.load_dict(mi.cornell_box()))
    text = params._repr_html_()
    assert Balanced(text).seen.count("tr") == len(params) + 1
    assert "red.reflectance.value" in text and "0.570" in text and "∂" in text


def test_tensors_that_are_images_are_pictures():
    image = mi.TensorXf(dr.linspace(mi.Float, 0, 1, 8 * 16 * 3), (8, 16, 3))
    text = image._repr_html_()
    assert Balanced(text).seen[0] == "img" and "8 × 16 × 3" in text
    for other in (mi.TensorXf([1, 2, 3], (3,)), mi.TensorXf([0] * 64, (8, 8, 1, 1)), mi.Float(1, 2), mi.TensorXu([0] * 64, (8, 8))):
        assert other._repr_html_() is None


def test_a_cell_shows_work_as_it_goes_on(notebook):
    live = mi.notebook.Live("fitting", every=0)
    for i in range(3):
        live(mi.TensorXf([i / 3] * 48, (4, 4, 3)), f"step {i}", i / 3)
    live.done()
    (first, second, third, last), = notebook
    assert "fitting step 0" in first and "<progress" in first and "data:image/png" in first and second != third and last == ""
    silent = mi.notebook.Live(every=60)
    silent(lambda: mi.TensorXf([1] * 16, (4, 4)), "once")
    silent(lambda: pytest.fail("shown too soon"), "twice")
    assert len(notebook[1]) == 1


def test_a_long_render_shows_the_image_so_far(notebook, variant, monkeypatch):
    if variant != "llvm_rgb":
        pytest.skip("one variant will do")
    scene = mi.load_dict({"type": "scene", "light": {"type": "constant"}, "ball": {"type": "sphere"},
                          "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 32, "height": 32}}})
    spp = 1 << 8
    while not notebook and spp < 1 << 24:
        spp *= 4
        image = mi.render(scene, spp=spp).numpy()
    cell, = notebook
    assert "rendering" in cell[0] and "<progress" in cell[0] and "data:image/png" in cell[0] and cell[-1] == ""
    monkeypatch.delitem(sys.modules, "ipykernel")
    assert (mi.render(scene, spp=spp).numpy() == image).all()


def test_elsewhere_nothing_is_shown():
    mi.notebook.Live(every=0)(lambda: pytest.fail("asked for"), "text", 0.5)
