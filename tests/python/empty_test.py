# tests/python/empty_test.py: arrays of size zero mean what NumPy's do.
import copy
import pickle

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.jit import scalar
from umbel.jit.auto import Array3f, Bool, Float, TensorXf, UInt


def nothing(t=Float): return dr.zeros(t, 0)


def is_empty(a, t=Float):
    return type(a) is t and dr.width(a) == 0


@pytest.mark.parametrize("f", [
    lambda z: z + 1, lambda z: 1 - z, lambda z: z * z, lambda z: z + Float(3), lambda z: -z, lambda z: z / 2,
    lambda z: z ** 2, lambda z: 2 ** z, abs, dr.sin, dr.sqrt, dr.round, lambda z: dr.minimum(z, 2),
    lambda z: dr.fma(z, 2, z), lambda z: dr.select(z < 1, z, 0), lambda z: dr.clip(z, 0, 1), lambda z: dr.lerp(z, 1, .5),
    dr.cumsum, dr.prefix_sum, lambda z: dr.cumsum(z, reverse=True), lambda z: dr.prefix_reduce(dr.ReduceOp.Max, z),
    dr.sort, lambda z: dr.block_sum(z, 2), dr.reverse, lambda z: dr.gather(Float, z, nothing(UInt)),
    lambda z: dr.gather(Float, Float(1, 2), nothing(UInt)), lambda z: dr.norm(dr.zeros(Array3f, 0)),
    lambda z: dr.dot(dr.zeros(Array3f, 0), Array3f(1, 2, 3)), lambda z: UInt(z) * 2.5])
def test_what_is_made_of_nothing_is_nothing(f):
    assert is_empty(f(nothing()))


def test_classes_are_those_of_other_sizes():
    z = nothing()
    assert is_empty(z < 1, Bool) and is_empty((z < 1) & (z > 0), Bool) and is_empty(~(z < 1), Bool)
    assert is_empty(dr.argsort(z), UInt) and is_empty(dr.zeros(Array3f, 0) * 2, Array3f)
    assert is_empty(dr.gather(Array3f, Float(1, 2, 3), nothing(UInt)), Array3f)
    z += 1
    assert is_empty(z)


def test_only_one_element_broadcasts_beside_nothing():
    with pytest.raises(dr.UserError, match="sizes 0 and 3"):
        nothing() + Float(1, 2, 3)
    with pytest.raises(dr.UserError, match="sizes 0 and 2"):
        dr.fma(nothing(), Float(1, 2), 1)


def test_reductions_of_nothing():
    z, n = nothing(), np.zeros(0, np.float32)
    assert dr.sum(z) == n.sum() and dr.prod(z) == n.prod() and dr.dot(z, z) == 0
    assert dr.all(z < 1) and not dr.any(z < 1) and dr.count(z < 1) == 0
    for f in (dr.mean, dr.var, dr.std, dr.median):
        assert np.isnan(f(z).numpy()).all()
    for f, g in ((dr.argmax, np.argmax), (dr.argmin, np.argmin)):
        with pytest.raises(ValueError):
            g(n)
        with pytest.raises(ValueError):
            f(z)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_tensors(shape):
    t, n = dr.zeros(TensorXf, shape), np.zeros(shape, np.float32)
    assert (t + 1).shape == dr.sin(t).shape == shape
    for axis in range(len(shape)):
        assert dr.cumsum(t, axis=axis).shape == dr.sort(t, axis=axis).shape == shape
        assert np.array_equal(dr.sum(t, axis=axis).numpy(), n.sum(axis=axis))
        if shape[axis]:
            assert dr.argmax(t, axis=axis).shape == n.argmax(axis=axis).shape
        else:
            with pytest.raises(ValueError):
                dr.argmax(t, axis=axis)


def test_gradients():
    x = nothing()
    dr.enable_grad(x)
    y = x * x
    dr.backward(y)
    assert is_empty(dr.grad(x)) and is_empty(dr.grad(y))
    dr.forward(x)
    dr.set_grad(x, 1)
    assert is_empty(dr.grad(x)) and is_empty(dr.detach(x))
    w = Float(1, 2)
    dr.enable_grad(w)
    dr.backward(dr.sum(w) + dr.sum(dr.gather(Float, w, nothing(UInt))))
    assert dr.all(dr.grad(w) == 1)


@pytest.mark.parametrize("f", [dr.sum, dr.mean, dr.prod, dr.min, dr.max, dr.norm, dr.squared_norm, dr.var, dr.std,
                               lambda x: dr.dot(x, x), lambda x: 2 * dr.sum(x) + 1, lambda x: dr.sum(TensorXf(x, (0,))),
                               lambda x: dr.sum(TensorXf(x, (0, 3)), axis=0)])
def test_gradients_of_reductions(f):
    x = nothing()
    dr.enable_grad(x)
    dr.backward(dr.sum(f(x * x)))
    assert is_empty(dr.grad(x))
    y = Float(1, 2)
    dr.enable_grad(y)
    dr.backward(dr.sum(f(x)) + dr.sum(y))
    assert dr.all(dr.grad(y) == 1)
    with pytest.raises(dr.UserError, match="does not depend"):
        dr.backward(dr.sum(Float(1, 2)))


@pytest.mark.parametrize("mode", [None, "symbolic", "evaluated"])
def test_loops_branches_and_calls_of_no_lane(mode):
    z, one = nothing(), Float(1)
    counts = []

    def body(x, y):
        counts.append(1)
        return x + 1, y
    x, y = dr.while_loop((z, one), lambda x, y: x < 3, body, mode=mode)
    assert is_empty(x) and y == 1 and not counts
    target = UInt(0, 0)

    def write(x, y):
        dr.scatter_add(target, UInt(1), UInt(0))
        return x + y, Array3f(x), {"n": UInt(y)}
    a, b, c = dr.if_stmt((z, one), z < 1, write, lambda x, y: (x, Array3f(y), {"n": UInt(7)}), mode=mode)
    assert is_empty(a) and is_empty(b, Array3f) and is_empty(c["n"], UInt)
    assert is_empty(dr.switch(nothing(UInt), [lambda x: x + 1, lambda x: x * 2], z, mode=mode))
    a, b, c = dr.switch(UInt(0), [write, lambda x, y: write(y, x)], z, one, mode=mode)
    assert is_empty(a) and is_empty(b, Array3f) and is_empty(c["n"], UInt)
    assert dr.all(target == 0)
    assert is_empty(dr.func(lambda x: x * 2)(z))
    with pytest.raises(dr.UserError, match="uninitialized"):
        dr.while_loop((Float(), UInt(0)), lambda x, i: i < 3, lambda x, i: (x, i + 1), mode=mode)


def test_syntax():
    @dr.syntax
    def f(x):
        i = UInt(x)
        while i < 3:
            if x < 1:
                x += 1
            i += 1
        return x
    assert is_empty(f(nothing()))


def test_memory():
    z, i, t = nothing(), nothing(UInt), UInt(1, 2)
    assert is_empty(dr.scatter_inc(t, i), UInt) and is_empty(dr.scatter_exch(t, UInt(5), i), UInt)
    before, done = dr.scatter_cas(t, UInt(1), UInt(5), i)
    assert is_empty(before, UInt) and is_empty(done, Bool)
    dr.scatter(t, UInt(7), i)
    dr.scatter_add(t, UInt(7), i)
    assert np.array_equal(t, [1, 2])
    dr.scatter(z, Float(1), UInt(0), False)
    assert is_empty(z)
    with pytest.raises(dr.UserError, match="target"):
        dr.scatter(z, Float(1), UInt(0))
    for indexing in ("xy", "ij"):
        for g in (dr.meshgrid(z, Float(1, 2), indexing=indexing), dr.meshgrid(Float(1, 2), z, z, indexing=indexing)):
            assert all(is_empty(a) for a in g)


def test_extrema_of_nothing_are_what_changes_no_other():
    z = nothing()
    assert dr.min(z) == np.inf and dr.max(z) == -np.inf
    assert dr.min(nothing(UInt)) == 2**32 - 1 and dr.max(nothing(UInt)) == 0


def test_pickling_and_copies():
    ray = pickle.loads(pickle.dumps(mi.Ray3f([0, 1, 2], [0, 0, 1])))
    assert dr.all(ray.o == mi.Point3f(0, 1, 2)) and type(pickle.loads(pickle.dumps(mi.Color0f()))) is mi.Color0f
    assert is_empty(pickle.loads(pickle.dumps(nothing())))
    for a in (nothing(Array3f), nothing(mi.Matrix3f)):
        for b in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a)):
            assert is_empty(b, type(a)) and len(b) == len(a)
    assert pickle.loads(pickle.dumps(dr.zeros(TensorXf, (0, 3)))).shape == (0, 3)
    assert np.array_equal(pickle.loads(pickle.dumps(scalar.Array3f(1, 2, 3))), [1, 2, 3])


def test_rays_samples_and_mappings():
    z, u = nothing(mi.Float), nothing(mi.Point2f)
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere"}, "light": {"type": "constant"},
                          "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
    sensor = scene.sensors()[0]
    for ray, weight in (sensor.sample_ray(z, z, u, u), sensor.sample_ray(0, 0, u, 0), sensor.sample_ray_differential(0, 0, u, 0)):
        assert is_empty(ray.o, mi.Point3f) and dr.width(weight) == 0
        si = scene.ray_intersect(ray)
        assert type(si) is mi.SurfaceInteraction3f and is_empty(si.p, mi.Point3f) and dr.width(si) == 0
        assert is_empty(si.is_valid(), mi.Bool) and dr.width(scene.ray_intersect_preliminary(ray)) == 0
        assert is_empty(scene.ray_test(ray), mi.Bool)
        assert dr.width(si.emitter(scene)) == 0 and is_empty(si.spawn_ray(nothing(mi.Vector3f)).d, mi.Vector3f)
    ds, weight = scene.sample_emitter_direction(si, u)
    assert is_empty(ds.d, mi.Vector3f) and is_empty(weight, mi.Color3f)
    bs, weight = mi.load_dict({"type": "roughplastic"}).sample(mi.BSDFContext(), si, z, u)
    assert is_empty(bs.wo, mi.Vector3f) and is_empty(weight, mi.Color3f)
    assert is_empty(mi.warp.square_to_cosine_hemisphere(u), mi.Vector3f) and is_empty(mi.warp.square_to_cosine_hemisphere_pdf(
        nothing(mi.Vector3f)), mi.Float)
    assert all(is_empty(a, mi.Float) for a in mi.fresnel(z, 1.5))
    sampler = mi.load_dict({"type": "independent"})
    sampler.seed(0, 0)
    assert is_empty(sampler.next_1d(), mi.Float) and is_empty(sampler.next_2d(), mi.Point2f)
    block = mi.ImageBlock([4, 4], [0, 0], 3)
    block.put(u, [z, z, z])
    assert dr.all(block.tensor() == 0, axis=None)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        mi.warp.square_to_cosine_hemisphere("x")


def test_tensors_keep_their_other_dimensions():
    t, cond = dr.zeros(TensorXf, (0, 3)), Bool()
    assert dr.if_stmt((t,), cond, lambda t: t + 1, lambda t: t).shape == (0, 3)
    with pytest.raises(Exception, match="'cond' is empty"):
        dr.if_stmt((Float(1, 2, 3),), cond, lambda x: x, lambda x: x)
