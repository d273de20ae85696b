# tests/python/properties_test.py: properties, plugins by name, records and their fields, variants as modules.
import warnings

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

T = mi.Properties.Type


@pytest.mark.parametrize("value, kind", [
    (True, T.Bool), (3, T.Integer), (2 ** 70, T.Float), (1.5, T.Float), ("text", T.String), ([1, 2, 3], T.Vector),
    (np.array([1.0, 2, 3]), T.Vector), (np.float32(2), T.Float), (np.int64(2), T.Integer), (np.bool_(True), T.Bool),
    (mi.Properties.Reference("a"), T.Reference), (mi.ScalarTransform4f(), T.Transform), (np.eye(3), None),
    ([1, 2], None), ({}, None), (np.complex64(1), None)], ids=repr)
def test_values_have_the_type_that_they_look_like(value, kind):
    p = mi.Properties()
    if kind is None:
        with pytest.raises(RuntimeError):
            p["x"] = value
    else:
        p["x"] = value
        assert p.type("x") is kind


def test_properties_keep_order_and_know_what_was_asked_for():
    p = mi.Properties("plugin")
    p["a"], p["b"], p["c"] = 1, "two", [1, 2, 3]
    assert p["b"] == "two" and p.unqueried() == ["a", "c"] and p.was_queried("b")
    del p["b"]
    p["b"] = 4
    assert p.keys() == ["a", "c", "b"] and p.get("d", 5) == 5
    q = mi.Properties(p)
    assert q == p
    q.merge(p)
    q.set_id("name")
    assert q != p and 'id = "name"' in str(q)


def test_a_missing_property_is_a_key_error_and_a_runtime_error():
    for kind in (KeyError, RuntimeError):
        with pytest.raises(kind, match="nothing"):
            mi.Properties()["nothing"]


def test_old_names_warn():
    p = mi.Properties()
    p["a"] = 1
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert p.has_property("a") and p.property_names() == ["a"] and p.remove_property("a")
    assert [w.category for w in seen] == [DeprecationWarning] * 3


def test_numbers_and_colours_become_textures():
    p = mi.Properties()
    p["f"], p["c"], p["v"] = 0.5, mi.ScalarColor3f(0.1, 0.2, 0.3), [1, 2, 3]
    si = mi.SurfaceInteraction3f()
    for get in (p.get_texture, p.get_emissive_texture, p.get_unbounded_texture):
        assert np.allclose(np.ravel(get("c").eval(si)), [0.1, 0.2, 0.3]) and np.allclose(np.ravel(get("f").eval(si)), 0.5)
        with pytest.raises(RuntimeError, match="wrong type"):
            get("v")
        with pytest.raises(RuntimeError, match="cannot be found"):
            get("missing")


def test_fields_of_records_become_arrays_of_their_types():
    ray = mi.Ray3f([0, 0, 0], [0, 0, 1])
    ray.o = [1, 2, 3]
    box = mi.BoundingBox3f()
    box.min = np.zeros(3)
    assert type(ray.o) is mi.Point3f and type(box.min) is mi.Point3f and hasattr(mi.Ray3f, "o")
    other = mi.Ray3f()
    other.assign(ray)
    assert dr.all(other.o == ray.o) and other.o is not ray.o


def test_rays_exist_in_the_plane_and_in_double_precision():
    assert np.allclose(np.ravel(mi.Ray2f([1, 2], [0, 1])(2.0)), [1, 4])
    assert dr.type_v(mi.Ray3d([0, 0, 0], [0, 0, 1]).o) == dr.VarType.Float64


def test_differentials_scale_about_the_ray():
    ray = mi.RayDifferential3f(mi.Ray3f([0, 0, 0], [0, 0, 1]))
    assert not np.any(np.ravel(ray.o_x))
    ray.o_x, ray.d_x = [1, 0, 0], [0.5, 0, 1]
    ray.scale_differential(2.0)
    assert np.allclose(np.ravel(ray.o_x), [2, 0, 0]) and np.allclose(np.ravel(ray.d_x), [1, 0, 1])


def test_a_variant_is_a_module_with_its_types(variant):
    from umbel.scalar_rgb.test.util import fresolver_append_path
    import umbel.test.util
    assert fresolver_append_path is umbel.test.util.fresolver_append_path
    assert mi.scalar_rgb.Float is float and mi.llvm_spectral.is_spectral and mi.variant() == variant


def test_callbacks_hear_of_new_variants(variant):
    heard = []

    def callback(*names): heard.append(names)
    mi.detail.add_variant_callback(callback)
    mi.detail.add_variant_callback(callback)
    with mi.set_variant("llvm_mono"):
        pass
    mi.detail.remove_variant_callback(callback)
    with mi.set_variant("llvm_mono"):
        pass
    assert heard == [(variant, "llvm_mono"), ("llvm_mono", variant)]


# ---- plugins in Python

class Holder(mi.Texture):
    """A texture that keeps what it is given."""
    last = None

    def __init__(self, props):
        mi.Texture.__init__(self, props)
        self.table = props.get("table")
        self.level = props.get("level", 1.)
        Holder.last = self

    def eval(self, si, active=True): return mi.Spectrum(self.level)


def test_a_plugin_in_python_refuses_parameters_that_it_does_not_ask_for():
    mi.register_texture("holder", Holder)
    with pytest.raises(mi.UserError, match='unknown parameter "levl"; did you mean "level"'):
        mi.load_dict({"type": "holder", "levl": 2.})
    with pytest.raises(mi.UserError, match="unknown parameter"):
        mi.load_dict({"type": "holder", "inside": {"type": "uniform"}})
    assert mi.load_dict({"type": "holder", "level": 2.}).level == 2


@pytest.mark.parametrize("shape", [(7,), (2, 5), (2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_tensors_arrive_at_plugins_in_python(shape):
    mi.register_texture("holder", Holder)
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for given in (mi.TensorXf(numbers), numbers):
        mi.load_dict({"type": "diffuse", "reflectance": {"type": "holder", "table": given}})
        table = Holder.last.table
        assert isinstance(table, mi.TensorXf) and np.array_equal(table, numbers)


def test_bitmaps_arrive_at_plugins_in_python():
    mi.register_texture("holder", Holder)
    mi.load_dict({"type": "holder", "table": mi.Bitmap(np.ones((2, 3, 3), np.float32))})
    assert isinstance(Holder.last.table, mi.Bitmap) and Holder.last.table.width() == 3


# ---- ids and parameters

def test_objects_are_found_by_their_key_and_by_their_id():
    scene = mi.load_dict({"type": "scene", "red": {"type": "diffuse", "id": "paint"},
                          "a": {"type": "sphere", "bsdf": {"type": "ref", "id": "red"}},
                          "b": {"type": "sphere", "bsdf": {"type": "ref", "id": "paint"}}})
    a, b = scene.shapes()
    assert a.bsdf() is b.bsdf() and a.bsdf().id() == "paint"
    # An id goes before a key
    scene = mi.load_dict({"type": "scene", "red": {"type": "diffuse", "id": "paint"}, "paint": {"type": "conductor", "id": "red"},
                          "a": {"type": "sphere", "bsdf": {"type": "ref", "id": "red"}}})
    assert scene.shapes()[0].bsdf().class_name() == "SmoothConductor"


def test_text_in_the_place_of_numbers_is_called_so():
    params = mi.traverse(mi.load_dict({"type": "diffuse"}))
    key = next(iter(params.keys()))
    with pytest.raises(mi.UserError, match='the text "blue" cannot take its place: give numbers'):
        params[key] = "blue"


@pytest.mark.parametrize("key", ["bsdf.reflectance.value", "bsdf.reflectance.data"])
def test_adding_nothing_is_no_change(key):
    reflectance = {"type": "rgb", "value": [.1, .2, .3]} if "value" in key else \
        {"type": "bitmap", "data": mi.TensorXf(np.full((2, 2, 3), .5, np.float32)), "raw": True}
    params = mi.traverse(mi.load_dict({"type": "sphere", "bsdf": {"type": "diffuse", "reflectance": reflectance}}))
    params[key] += 0
    assert params.update() == []
    params[key] += .1
    assert len(params.update()) > 0
