"""How things look in notebooks: scenes as trees, parameters as tables, images as pictures, and work under way.

    live = umbel.notebook.Live("fitting the colours")
    for i in range(100):
        image = umbel.render(scene, params, spp=4)
        ...
        live(image, f"iteration {i}, loss {loss}", i / 100)
"""
import base64
import html
import sys
import time

from . import _core
from . import jit as dr
from ._params import SceneParameters

_most = 100  # rows of a list that are shown


def is_notebook():
    """Whether the script runs in a notebook, whose cells show HTML."""
    return "ipykernel" in sys.modules


# ---- pictures

def is_picture(array):
    """Whether an array or a tensor has rows, columns and one to four channels of numbers that are an image's."""
    shape = array.shape
    return len(shape) in (2, 3) and min(shape[:2]) >= 4 and (len(shape) == 2 or 1 <= shape[2] <= 4) and dr.is_float_v(array)


def picture(image):
    """An image as HTML: 8 bits of sRGB, as large as it is, small ones enlarged."""
    from .util import convert_to_bitmap
    bitmap = convert_to_bitmap(image)
    data = base64.b64encode(bitmap._repr_png_()).decode()
    enlarged = max(1, 256 // max(bitmap.width(), 1))
    return (f'<img src="data:image/png;base64,{data}" width="{bitmap.width() * enlarged}" style="image-rendering: '
            f'{"pixelated" if enlarged > 1 else "auto"}; max-width: 100%">')


def _tensor_html(self):
    """A picture, of tensors that are images; others look as they print."""
    if not (dr.is_tensor_v(self) and is_picture(self)):
        return None
    size = " × ".join(str(n) for n in self.shape)
    return f"{picture(dr.detach(self))}<div><small>{type(self).__name__}, {size}</small></div>"


# ---- scenes and parameters

def _text(value):
    return html.escape(str(value))


def _branch(title, rows, open=False):
    """A title, and what is below it when one clicks on it."""
    if not rows:
        return f"<div>{title}</div>"
    shown = "".join(f"<div>{row}</div>" for row in rows[:_most])
    if len(rows) > _most:
        shown += f"<div>… and {len(rows) - _most} more</div>"
    return (f"<details{' open' if open else ''}><summary>{title}</summary>"
            f'<div style="margin-left: 1.5em">{shown}</div></details>')


def _label(o):
    """An object's plugin, and its name where it has one."""
    kind = f"<b>{_text(o.plugin_name())}</b>"
    return f"{kind} <i>{_text(o.id())}</i>" if o.id() else kind


def _count(n, what):
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _bytes(n):
    for unit in ("B", "KB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


def _shape_row(shape):
    facts = []
    if shape.is_mesh():
        vertices, faces = shape.vertex_count(), shape.face_count()
        floats = 3 + 3 * shape.has_vertex_normals() + 2 * shape.has_vertex_texcoords()
        facts.append(f"{vertices:,} vertices, {_count(faces, 'triangle')}, {_bytes(4 * floats * vertices + 12 * faces)}")
    if shape.emitter() is not None:
        facts.append("light " + _label(shape.emitter()))
    if shape.bsdf() is not None:
        facts.append("material " + _label(shape.bsdf()))
    return ", ".join([_label(shape), *facts])


def _sensor_row(sensor):
    film, sampler = sensor.film(), sensor.sampler()
    width, height = (int(n) for n in film.size())
    return f"{_label(sensor)}, {_label(film)} of {width} × {height} pixels, {_label(sampler)} with {sampler.sample_count()} samples"


def _scene_html(self):
    """A tree of what the scene consists of, with sizes."""
    shapes, lights, sensors = self.shapes(), self.emitters(), self.sensors()
    triangles = sum(s.face_count() for s in shapes if s.is_mesh())
    low, high = self._bounds()[:3], self._bounds()[3:]
    box = " × ".join(f"{b - a:.4g}" for a, b in zip(low, high)) if all(a <= b for a, b in zip(low, high)) else "nothing"
    size = _count(len(shapes), "shape") + (", " + _count(triangles, "triangle") if triangles else "")
    return _branch(f"<b>Scene</b> of {size}; extent {box}", [
        _branch(f"integrator {_label(self.integrator())}", []),
        _branch(_count(len(sensors), "sensor"), [_sensor_row(s) for s in sensors], open=len(sensors) == 1),
        _branch(_count(len(lights), "light"), [_label(e) for e in lights], open=len(lights) <= 5),
        _branch(_count(len(shapes), "shape"), [_shape_row(s) for s in shapes[:_most + 1]] + [""] * (len(shapes) - _most - 1),
                open=len(shapes) <= 10)], open=True)


def _value(value):
    """A parameter in a cell: numbers as they are, arrays by their size."""
    value = getattr(value, "matrix", value)
    shape = value.shape if isinstance(value, dr.ArrayBase) else ()
    count = 1
    for n in shape:
        count *= n
    return str(value) if count <= 16 else " × ".join(str(n) for n in shape)


def _parameters_html(self):
    """A table: name, value or size, type, and whether it can be differentiated."""
    rows = []
    for key in self.keys():
        value, flags = self[key], self.flags(key)
        cells = [key, _value(value), type(value).__name__, "∂" if not flags & 1 else "", self._core.owner(key).class_name()]
        rows.append("<tr>" + "".join(f'<td style="text-align: left">{_text(c)}</td>' for c in cells) + "</tr>")
    head = "".join(f"<th>{c}</th>" for c in ("name", "value", "type", "∂", "of"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


# ---- work under way

class Live:
    """A cell that changes while work goes on: a bar, a line of text, and the image as it is so far. Elsewhere than in notebooks
    it does nothing. What comes faster than `every` seconds is not shown, save the last of it: `fraction` 1, or done()."""

    def __init__(self, title="", every=0.5):
        self._title, self._every, self._handle, self._last = title, every, None, -1e9

    def __call__(self, image=None, text="", fraction=None):
        """`image` is an array, a tensor, a Bitmap, or a function that returns one: it is called when it is to be shown."""
        if not is_notebook() or time.monotonic() < self._last + self._every and fraction != 1:
            return
        parts = [_text(" ".join(t for t in (self._title, text) if t))]
        if fraction is not None:
            parts.append(f'<progress value="{min(max(fraction, 0), 1):.4f}" max="1" style="width: 20em"></progress>')
        if image is not None:
            parts.append(picture(image() if callable(image) else image))
        self._show("".join(f"<div>{p}</div>" for p in parts))
        self._last = time.monotonic()

    def done(self):
        """Takes it away."""
        if self._handle is not None:
            self._show("")

    def _show(self, text):
        from IPython.display import HTML, display
        if self._handle is None:
            self._handle = display(HTML(text), display_id=True)
        else:
            self._handle.update(HTML(text))


dr.ArrayBase._repr_html_ = _tensor_html
_core.Scene._repr_html_ = _scene_html
SceneParameters._repr_html_ = _parameters_html
