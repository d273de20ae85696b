# tests/python/objects_test.py: films, blocks, samplers, lights, references and integrators, as scripts use them; plugins are in plugin_test.py.
import gc
import weakref

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def close(a, b, **kw): return np.allclose(np.array(a), np.array(b), **{"rtol": 1e-4, "atol": 1e-5, **kw})


def room(**more):
    T = mi.ScalarTransform4f
    return {"type": "scene",
            "sensor": {"type": "perspective", "fov": 45, "to_world": T().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]),
                       "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}}},
            "wall": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.6, .3, .2]}}},
            "lamp": {"type": "rectangle", "to_world": T().translate([0, 0, 5]).rotate([0, 1, 0], 180),
                     "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [3, 4, 5]}}}, **more}


KEY = "wall.bsdf.reflectance.value"


# ---- blocks and films

def test_a_sample_spreads_as_the_filter_does():
    f = mi.load_dict({"type": "gaussian"})
    block = mi.ImageBlock([6, 6], [0, 0], 2, rfilter=f, border=True)
    assert block.border_size() == f.border_size() == 2 and block.tensor().shape == (10, 10, 2)
    block.put(mi.Point2f(3.3, 2.6), [1, 10])
    centres = np.arange(10) - 2 + .5
    want = np.outer([f.eval(float(y - 2.6))[0] for y in centres], [f.eval(float(x - 3.3))[0] for x in centres])
    assert close(block.tensor().numpy()[..., 0], want) and close(block.tensor().numpy()[..., 1], 10 * want)


def test_normalized_weights_add_up_to_one():
    block = mi.ImageBlock([6, 6], [0, 0], 1, rfilter=mi.load_dict({"type": "gaussian"}), border=True, normalize=True)
    block.put(mi.Point2f([3.3, 2.1], [2.6, 4.9]), [mi.Float([1, 2])])
    assert close(block.tensor().numpy().sum(), 3)


def test_reading_inverts_putting_for_a_constant():
    image = mi.TensorXf(np.full((6, 5, 1), 2.5, np.float32))
    block = mi.ImageBlock(image, [0, 0], rfilter=mi.load_dict({"type": "tent"}), normalize=True)
    assert close(block.read(mi.Point2f([2.2, 3.9], [2.7, 1.1]))[0], 2.5)


def test_blocks_warn_of_samples_that_cannot_be_right():
    class Keep(mi.Appender):
        def __init__(self): self.lines = []
        def append(self, level, text): self.lines.append(text)
    keep, logger = Keep(), mi.Thread.thread().logger()
    logger.add_appender(keep)
    try:
        for value in (1, -1, np.nan):
            mi.ImageBlock([4, 4], [0, 0], 1, warn_negative=True, warn_invalid=True).put(mi.Point2f(1.5, 1.5), [value])
            mi.ImageBlock([4, 4], [0, 0], 1, warn_negative=False, warn_invalid=False).put(mi.Point2f(1.5, 1.5), [value])
    finally:
        logger.remove_appender(keep)
    assert len(keep.lines) == 2 and "negative" in keep.lines[0] and "invalid" in keep.lines[1]


def test_gradients_pass_through_a_block():
    value = mi.Float([1, 2])
    dr.enable_grad(value)
    block = mi.ImageBlock([4, 4], [0, 0], 1, rfilter=mi.load_dict({"type": "box"}))
    block.put(mi.Point2f([1.5, 2.5], [0.5, 3.5]), [value * 3])
    dr.backward(dr.sum(dr.square(block.tensor()), axis=None))
    assert close(dr.grad(value), [18, 36])


def test_blocks_are_added_where_they_overlap():
    a, b = mi.ImageBlock([4, 3], [10, 20], 2), mi.ImageBlock(mi.TensorXf(np.arange(18.).reshape(3, 3, 2)), offset=[12, 19])
    a.put_block(b)
    want = np.zeros((3, 4, 2))
    want[:2, 2:] = b.tensor().numpy()[1:, :2]
    assert close(a.tensor(), want) and list(a.size()) == [4, 3] and list(a.offset()) == [10, 20]
    a.put_block(a)
    assert close(a.tensor(), 2 * want)
    a.set_size([2, 2])
    assert a.tensor().shape == (2, 2, 2) and close(a.tensor(), 0)
    with pytest.raises(mi.UserError, match="channels"):
        a.put(mi.Point2f(10, 20), [1])
    with pytest.raises(mi.UserError, match="channels"):
        a.put_block(mi.ImageBlock([2, 2], [0, 0], 1))


@pytest.mark.parametrize("name", ["llvm_rgb", "llvm_mono", "llvm_spectral", "llvm_mono_polarized"])
def test_colours_are_put_in_all_variants(name):
    with mi.set_variant(name):
        film = mi.load_dict({"type": "hdrfilm", "width": 2, "height": 2, "pixel_format": "rgba", "rfilter": {"type": "box"}})
        assert film.prepare() == 5
        block = film.create_block()
        wavelengths = mi.sample_rgb_spectrum(mi.UnpolarizedSpectrum([.1, .3, .6, .8]))[0] if mi.is_spectral else []
        block.put(mi.Point2f(1.5, .5), wavelengths, mi.depolarizer(mi.UnpolarizedSpectrum(2)), alpha=.5, weight=2)
        film.put_block(block)
        pixel = film.develop().numpy()[0, 1]
        assert len(pixel) == film.base_channels_count() == (2 if mi.is_monochromatic else 4)
        assert close(pixel[-1], .25) and (mi.is_spectral or close(pixel[:-1], 1)) and np.all(pixel[:-1] > 0)
        assert close(block.tensor().numpy()[0, 1, 3:], [.5, 2])


def test_a_filter_is_read_from_a_table():
    x = mi.Float(np.linspace(-3, 3, 101))
    for kind in ("gaussian", "mitchell", "box", "tent"):
        f = mi.load_dict({"type": kind})
        assert close(f.eval_discretized(x), f.eval(x), atol=2e-2)
    assert mi.load_dict({"type": "hdrfilm", "pixel_format": "luminance"}).base_channels_count() == 1


def test_a_film_divides_sums_by_weights():
    film = mi.load_dict({"type": "hdrfilm", "width": 4, "height": 3, "pixel_format": "rgba", "rfilter": {"type": "box"}})
    with pytest.raises(RuntimeError, match=r"prepare\(\)"):
        film.develop()
    assert film.prepare(["depth"]) == 6 and film.base_channels_count() == 4
    block = film.create_block()
    block.put(mi.Point2f([1.5, 1.5], [2.5, 2.5]), [mi.Float([1, 3]), mi.Float(2), mi.Float(0), mi.Float(1), mi.Float(1),
                                                   mi.Float([10, 20])])
    film.put_block(block)
    image = film.develop().numpy()
    assert image.shape == (3, 4, 5) and close(image[2, 1], [2, 2, 0, 1, 15]) and close(image[0, 0], 0)
    assert film.develop(raw=True).shape == (3, 4, 6)
    assert film.bitmap().channel_count() == 5
    film.clear()
    assert close(film.develop(), 0)


def test_a_film_may_make_channels_of_samples_by_itself():
    class Halves(mi.Film):
        def __init__(self, props):
            super().__init__(props)
            self.m_flags = mi.FilmFlags.Special

        def prepare_sample(self, spec, wavelengths, nChannels, weight=1, alpha=1, active=True):
            return [spec[0] * .5, spec[1], spec[2], weight]
    mi.register_film("halves", Halves)
    d = {"type": "scene", "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [2, 3, 4]}},
         "sensor": {"type": "perspective", "film": {"type": "halves", "width": 4, "height": 3, "rfilter": {"type": "gaussian"}}}}
    assert close(mi.render(mi.load_dict(d), spp=4), np.broadcast_to([1, 3, 4], (3, 4, 3)))


@pytest.mark.parametrize("name", ["llvm_rgb", "llvm_mono", "llvm_spectral"])
def test_blocks_of_samples_make_the_image_that_renders_make(name):
    with mi.set_variant(name):
        d = room(sky={"type": "constant", "radiance": .5})
        d["sensor"]["film"] |= {"pixel_format": "rgba", "sample_border": True, "rfilter": {"type": "gaussian"}}
        d["sensor"]["shutter_close"] = 1.
        scene = mi.load_dict(d)
        image = mi.ad.integrators.common.render_blocks(scene.integrator(), scene, spp=1024).numpy()
        assert close(image.mean(axis=(0, 1)), mi.render(scene, spp=1024, seed=1).numpy().mean(axis=(0, 1)), rtol=.01)


def test_luminance_films_give_one_channel():
    d = room()
    d["sensor"]["film"]["pixel_format"] = "luminance"
    scene = mi.load_dict(d)
    grey = mi.render(scene, spp=4)
    d["sensor"]["film"]["pixel_format"] = "rgb"
    rgb = mi.render(mi.load_dict(d), spp=4).numpy()
    assert grey.shape == (8, 8, 1) and scene.sensors()[0].film().develop().shape == (8, 8, 1)
    assert close(grey.numpy()[..., 0], rgb @ [.212671, .71516, .072169])


# ---- samplers

@pytest.mark.parametrize("kind", ["independent", "stratified", "sobol"])
def test_a_clone_goes_on_with_the_same_numbers(kind):
    a = mi.load_dict({"type": kind, "sample_count": 16})
    a.seed(3, 8)
    a.next_2d()
    b, other = a.clone(), a.fork()
    assert isinstance(a, mi.Sampler) and b.wavefront_size() == 8
    assert close(a.next_1d(), b.next_1d()) and close(a.next_2d(), b.next_2d())
    other.seed(4, 8)
    assert not close(a.next_1d(), other.next_1d())
    b.set_sample_count(64)
    assert a.sample_count() == 16


def test_samples_of_a_pixel_fill_its_strata():
    s = mi.load_dict({"type": "stratified", "sample_count": 16})
    s.set_samples_per_wavefront(4)
    s.seed(0, 8)
    cells = []
    for _ in range(4):
        cells.append(np.floor(s.next_1d().numpy() * 16))
        s.advance()
    for pixel in range(2):
        assert sorted(np.array(cells)[:, 4 * pixel:4 * pixel + 4].ravel()) == list(range(16))


def test_loops_advance_a_sampler():
    s = mi.load_dict({"type": "independent"})
    s.seed(1, 4)

    @dr.syntax
    def total(sampler, n):
        i, sum = mi.UInt32(0), mi.Float(0)
        while i < n:
            sum += sampler.next_1d()
            i += 1
        return sum
    t = s.clone()
    assert close(total(s, 5), sum(t.next_1d() for _ in range(5)))


class Counting(mi.Sampler):
    """0, 0.1, 0.2 ..."""

    def __init__(self, props=mi.Properties()):
        super().__init__(props)
        self.count = mi.UInt32(0)

    def seed(self, seed, wavefront_size=0xffffffff):
        super().seed(seed, wavefront_size)
        self.count = dr.zeros(mi.UInt32, wavefront_size)

    def next_1d(self, active=True):
        self.count += 1
        return mi.Float((self.count - 1) % 10) * .1

    def next_2d(self, active=True): return mi.Point2f(self.next_1d(), self.next_1d())

    def clone(self):
        other = Counting()
        other.count = mi.UInt32(self.count)
        return other


def test_a_sampler_in_python_feeds_a_render():
    mi.register_sampler("counting", Counting)
    s = mi.load_dict({"type": "counting", "sample_count": 7})
    s.seed(0, 1)
    assert s.sample_count() == 7 and close([s.next_1d()[0] for _ in range(11)], [*np.arange(10) / 10, 0])
    d = room()
    d["sensor"]["sampler"] = {"type": "counting", "sample_count": 2}
    a = mi.render(mi.load_dict(d)).numpy()
    assert a.max() > 0 and close(a, mi.render(mi.load_dict(d)).numpy())


# ---- lights

def lit(): return mi.load_dict(room(bulb={"type": "point", "position": [1, 2, 3], "intensity": 2.},
                                    sky={"type": "constant", "radiance": .5}))


def test_lights_come_in_the_order_of_the_description():
    scene = mi.load_dict({"type": "scene", "a": {"type": "point"}, "b": {"type": "sphere", "emitter": {"type": "area"}},
                          "c": {"type": "constant"}})
    assert [e.class_name() for e in scene.emitters()] == ["PointLight", "AreaLight", "ConstantBackgroundEmitter"]
    lights = scene.emitters_dr()
    assert list(lights.flags()) == [mi.EmitterFlags.DeltaPosition, mi.EmitterFlags.Surface, mi.EmitterFlags.Infinite]
    assert lights[2] is scene.environment() or lights[2].ptr == scene.environment().ptr


def test_emitted_rays_carry_the_power_of_their_light():
    scene = lit()
    rng = np.random.default_rng(1)
    u = [mi.Float(rng.random(4096, np.float32)) for _ in range(5)]
    radius = np.linalg.norm((np.array(scene.bbox().max) - np.array(scene.bbox().min)) / 2)
    power = {"AreaLight": 4 * np.pi * np.array([3, 4, 5]), "PointLight": 4 * np.pi * 2 * np.ones(3),
             "ConstantBackgroundEmitter": 4 * np.pi ** 2 * radius ** 2 * .5 * np.ones(3)}
    for e in scene.emitters():
        e.set_scene(scene)
        ray, weight = e.sample_ray(0, u[0], mi.Point2f(u[1], u[2]), mi.Point2f(u[3], u[4]))
        assert close(np.mean(np.array(weight), axis=1), power[e.class_name()], rtol=2e-3)
        assert close(dr.norm(ray.d), 1)


def test_sampled_light_is_its_value_over_density():
    scene = lit()
    it = dr.zeros(mi.SurfaceInteraction3f, 3)
    it.p = mi.Point3f([.3, -.2, .1], [.1, .4, -.3], [.2, .3, .5])
    for e in scene.emitters():
        ds, weight = e.sample_direction(it, mi.Point2f([.1, .5, .8], [.3, .7, .2]))
        assert close(e.eval_direction(it, ds), weight * ds.pdf)
    ds, weight = scene.sample_emitter_direction(it, mi.Point2f([.1, .5, .8], [.3, .7, .2]), False)
    index, inverse, _ = scene.sample_emitter(mi.Float([.1, .5, .8]))
    assert close(inverse, 3) and close(scene.pdf_emitter(index), 1 / 3)
    assert close(scene.eval_emitter_direction(it, ds), weight * ds.pdf)


@pytest.mark.parametrize("sampler", ["uniform", "power", "tree"])
def test_scenes_choose_lights_as_paths_do(sampler):
    lamp = {"type": "point", "position": [0, 0, 3], "intensity": {"type": "rgb", "value": 1.0}}
    surface = {"type": "sphere", "emitter": {"type": "area", "radiance": {"type": "rgb", "value": 5.0}}}
    scene = mi.load_dict({"type": "scene", "light_sampler": sampler, "ball": surface,
                          "a": lamp, "b": lamp | {"sampling_weight": 2.0}, "room": {"type": "constant"}})
    lights, n = scene.emitters(), 40000
    assert [e.class_name() for e in lights] == ["AreaLight", "PointLight", "PointLight", "ConstantBackgroundEmitter"]
    u = mi.Float((np.arange(n) + .5) / n)
    index, inverse, rest = scene.sample_emitter(u)
    pmf = scene.pdf_emitter(mi.UInt(0, 1, 2, 3)).numpy()
    assert close(np.bincount(index.numpy(), minlength=4) / n, pmf, atol=1e-3) and close(inverse, 1 / pmf[index.numpy()])
    assert close(pmf[2], 2 * pmf[1]) and (sampler != "uniform" or close(pmf, np.array([1, 1, 2, 1]) / 5))
    assert np.all((rest.numpy() >= 0) & (rest.numpy() <= 1))
    ray, weight, emitter = scene.sample_emitter_ray(0, u, [.3, .6], [.2, .7])
    own, alone = emitter.sample_ray(0, rest, [.3, .6], [.2, .7])
    assert [emitter[i] is lights[int(index[i])] for i in range(0, n, 1000)] == [True] * 40
    assert close(weight, alone * inverse) and close(ray.d, own.d) and close(ray.o, own.o)


def test_a_dark_scene_has_no_light_to_choose():
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere"}})
    index, inverse, rest = scene.sample_emitter(mi.Float(.1, .7))
    assert close(inverse, 0) and close(rest, [.1, .7]) and close(scene.pdf_emitter(index), 0)
    ray, weight, emitter = scene.sample_emitter_ray(0, .5, [.3, .6], [.2, .7])
    assert close(weight, 0) and emitter[0] is None


def test_a_camera_sees_points_where_it_would_send_rays():
    sensor = mi.load_dict(room()).sensors()[0]
    ray, _ = sensor.sample_ray(0, 0, [.3, .6], [0, 0])
    ds, importance = sensor.sample_direction(mi.Interaction3f(p=ray(2.5)), [0, 0])
    assert close(np.array(ds.uv).ravel(), [.3 * 8, .6 * 8], atol=1e-3) and close(np.array(ds.d), -np.array(ray.d))
    rx, _ = sensor.sample_ray(0, 0, [.3 + 1 / 8, .6], [0, 0])
    differential, _ = sensor.sample_ray_differential(0, 0, [.3, .6], [0, 0])
    assert close(differential.d_x, rx.d) and sensor.near_clip() == pytest.approx(.01)


# ---- references

def test_references_of_different_lists_meet():
    a, b = mi.load_dict({"type": "diffuse", "reflectance": .2}), mi.load_dict({"type": "diffuse", "reflectance": .8})
    mask = mi.Bool([True, False, True])
    both = dr.select(mask, mi.BSDFPtr(a), mi.BSDFPtr(b))
    assert len(both) == 3 and both[0] is a and both[1] is b
    assert list(both == a) == [True, False, True] and list(both == None) == [False] * 3
    si = dr.zeros(mi.SurfaceInteraction3f)
    si.wi, si.n = [0, 0, 1], [0, 0, 1]
    got = both.eval(mi.BSDFContext(), si, mi.Vector3f(0, 0, 1))
    assert close(np.array(got)[0], np.array([.2, .8, .2]) / np.pi)
    none = dr.select(mask, mi.BSDFPtr(a), None)
    assert close(np.array(none.eval(mi.BSDFContext(), si, mi.Vector3f(0, 0, 1)))[0], np.array([.2, 0, .2]) / np.pi)
    assert list(dr.gather(mi.BSDFPtr, both, mi.UInt32([1, 1])) == b) == [True, True]


def test_rays_keep_their_scene():
    hit = mi.load_dict(room()).ray_test(mi.Ray3f([0, 0, 3], [0, 0, -1]))
    gc.collect()
    assert list(hit) == [True]


# ---- integrators

@pytest.mark.parametrize("kind", ["prb", "direct", "path"])
def test_derivatives_of_an_integrator_agree_with_differences(kind):
    scene = mi.load_dict(room())
    integrator = mi.load_dict({"type": kind})
    params = mi.traverse(scene)
    images = []
    for delta in (-.05, .05):
        params[KEY] = mi.Color3f(.6 + delta, .3, .2)
        params.update()
        images.append(integrator.render(scene, seed=2, spp=16).numpy())
    want = (images[1] - images[0]) / .1
    value = mi.Color3f(.6, .3, .2)
    dr.enable_grad(value)
    params[KEY] = value
    params.update()
    dr.set_grad(value, mi.Color3f(1, 0, 0))
    assert close(integrator.render_forward(scene, params, seed=2, spp=16), want, atol=1e-4)
    dr.set_grad(value, 0)
    integrator.render_backward(scene, params, mi.TensorXf(np.ones((8, 8, 3), np.float32)), seed=2, spp=16)
    assert close(dr.grad(value).numpy().ravel()[0], want.sum(), rtol=1e-3)
    dr.set_grad(value, 0)
    dr.backward(dr.sum(integrator.render(scene, seed=2, spp=16), axis=None))
    assert close(dr.grad(value).numpy().ravel()[0], want.sum(), rtol=1e-3)


def gradients(integrator, scene, seed):
    """An image, and the derivatives of its mean by the wall's colour and by a mirror's, in reverse and forward."""
    params = mi.traverse(scene)
    keys = [KEY, "mirror.bsdf.specular_reflectance.value"]
    colours = [mi.Color3f(.6, .3, .2), mi.Color3f(.7, .8, .9)]
    for key, colour in zip(keys, colours):
        dr.enable_grad(colour)
        params[key] = colour
    params.update()
    image = mi.render(scene, params, integrator=integrator, spp=64, seed=seed, seed_grad=seed + 1)
    dr.backward(dr.mean(image, axis=None))
    by = [dr.grad(c).numpy().ravel() for c in colours]
    for c in colours:
        dr.set_grad(c, mi.Color3f(1, 1, 1))
    tangent = integrator.render_forward(scene, params, seed=seed + 1, spp=64)
    return image.numpy(), np.concatenate(by), tangent.numpy()


@pytest.mark.parametrize("depth, hidden", [(None, False), (-1, True), (2, False)])
@pytest.mark.parametrize("name", ["prb", "prb_basic"])
def test_integrators_mean_the_same_in_python_and_in_the_core(name, depth, hidden):
    d = room(sky={"type": "constant", "radiance": 1.})
    d["mirror"] = {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([.4, 0, .3]).scale(.4),
                   "bsdf": {"type": "conductor", "specular_reflectance": {"type": "rgb", "value": [.7, .8, .9]}}}
    scene = mi.load_dict(d)
    module = getattr(mi.ad.integrators, name)
    cls = module.PRBIntegrator if name == "prb" else module.BasicPRBIntegrator
    given = {"hide_emitters": hidden, **({} if depth is None else {"max_depth": depth})}
    props = mi.Properties()
    for key, value in given.items():
        props[key] = value
    # The same random numbers in the same order: paths differ in rounding only, which may change the fate of a few
    mine, theirs = (gradients(i, scene, 3) for i in (cls(props), mi.load_dict({"type": name, **given})))
    for a, b in zip(mine, theirs):
        assert np.abs(a).sum() > 0 and np.abs(a - b).sum() < 2e-3 * np.abs(b).sum()


class OneBounce(mi.ad.common.ADIntegrator):
    """Light that is seen, and after one bounce: differentiated as it is, with the arguments spelled out."""

    def sample(self, mode, scene, sampler, ray, δL, δaovs, state_in, active, **kwargs):
        self.modes = getattr(self, "modes", []) + [mode]
        si = scene.ray_intersect(ray, active)
        L = si.emitter(scene).eval(si, active)
        bs, _ = si.bsdf().sample(mi.BSDFContext(), si, sampler.next_1d(), sampler.next_2d(), active & si.is_valid())
        value = si.bsdf().eval(mi.BSDFContext(), si, dr.detach(bs.wo), active) / dr.detach(dr.select(bs.pdf > 0, bs.pdf, 1))
        next_si = scene.ray_intersect(si.spawn_ray(si.to_world(bs.wo)), active & si.is_valid())
        L = L + dr.select(si.is_valid(), value * next_si.emitter(scene).eval(next_si, active & si.is_valid()), 0)
        return L, si.is_valid(), [si.t], None

    def aov_names(self): return ["t.T"]


def test_an_integrator_that_holds_the_scene_goes_with_it():
    scene, integrator = mi.load_dict(room()), OneBounce()
    integrator.scene = scene
    np.array(mi.render(scene, integrator=integrator, spp=4))
    gone = weakref.ref(integrator)
    del scene, integrator
    gc.collect()
    assert gone() is None


def test_integrators_differentiated_as_they_are_agree_with_prb_basic():
    scene, mine = mi.load_dict(room(sky={"type": "constant", "radiance": 1.})), OneBounce()
    results = []
    for integrator in (mine, mi.load_dict({"type": "prb_basic", "max_depth": 2})):
        params, value = mi.traverse(scene), mi.Color3f(.6, .3, .2)
        dr.enable_grad(value)
        params[KEY] = value
        params.update()
        image = mi.render(scene, params, integrator=integrator, spp=16, seed=1)
        dr.backward(dr.mean(image[..., :3], axis=None))
        results.append((image.numpy()[..., :3], dr.grad(value).numpy().ravel()))
    assert close(results[0][0], results[1][0]) and close(results[0][1], results[1][1]) and results[0][1].min() > 0
    assert dr.ADMode.Primal in mine.modes and dr.ADMode.Backward in mine.modes


def test_prb_basic_agrees_with_prb_but_for_noise():
    scene = mi.load_dict(room(sky={"type": "constant", "radiance": 1.}))
    means = {name: np.array([mi.render(scene, integrator=mi.load_dict({"type": name, "max_depth": 4}), spp=64, seed=s).numpy().mean()
                             for s in range(16)]) for name in ("prb", "prb_basic")}
    error = sum(m.var(ddof=1) / len(m) for m in means.values()) ** .5
    # 5 standard errors of 30 degrees of freedom: once in 40000 runs
    assert abs(means["prb"].mean() - means["prb_basic"].mean()) < 5 * error
    assert means["prb_basic"].std() > means["prb"].std()  # lights are met by chance


# ---- names

def test_parameters_are_also_named_by_what_objects_are_in_each_other():
    """As in Mitsuba 3.9, which does not look at names of objects inside of others."""
    scene = mi.load_dict({
        "type": "scene",
        "ball": {"type": "sphere", "lamp": {"type": "area", "id": "lamp", "radiance": 2.0},
                 "paint": {"type": "twosided", "id": "paint", "inner": {"type": "diffuse", "id": "inner", "reflectance": 0.25}}}})
    params = mi.traverse(scene)
    assert "inner.reflectance.value" in params.keys() and "ball.bsdf.brdf_0.reflectance.value" in params
    assert "ball.bsdf.brdf_1.reflectance.value" not in params and "ball.bsdf.nothing" not in params
    params["ball.bsdf.brdf_0.reflectance.value"] = 0.5
    params["ball.emitter.radiance.value"] = 3.0
    assert params.flags("ball.emitter.radiance.value") == params.flags("lamp.radiance.value")
    params.update()
    assert dr.allclose(params["inner.reflectance.value"], 0.5) and dr.allclose(params["lamp.radiance.value"], 3)
    params.keep(["ball.emitter.radiance.value"])
    assert params.keys() == ["lamp.radiance.value"] and "inner.reflectance.value" not in params
    with pytest.raises(KeyError):
        params["ball.bsdf.brdf_0.reflectance.value"]


# ---- further channels

def test_films_name_the_channels_of_their_last_image():
    d = room(sky={"type": "constant", "radiance": 1.})
    d["integrator"] = {"type": "aov", "aovs": "dd:depth,nn:sh_normal", "image": {"type": "path"}, "far": {"type": "depth"}}
    scene = mi.load_dict(d)
    image = mi.render(scene, spp=4)
    bitmap = scene.sensors()[0].film().bitmap()
    assert bitmap.channel_names() == ["R", "G", "B", "far.R", "far.G", "far.B", "dd.T", "nn.X", "nn.Y", "nn.Z"]
    assert np.array_equal(bitmap, image)
    layers = dict(bitmap.split())
    assert list(layers) == ["<root>", "far", "dd", "nn"]
    assert layers["<root>"].pixel_format() == layers["far"].pixel_format() == mi.Bitmap.PixelFormat.RGB
    assert np.array_equal(np.array(layers["far"])[..., 0], np.array(layers["dd"]).squeeze())
    # Another integrator, other channels
    mi.render(scene, integrator=mi.load_dict({"type": "path"}), spp=1)
    assert scene.sensors()[0].film().bitmap().channel_names() == ["R", "G", "B"]


def test_channels_without_an_integrator_have_no_colour_in_front():
    d = room(sky={"type": "constant", "radiance": 1.})
    d["integrator"] = {"type": "aov", "aovs": "dd:depth,nn:sh_normal"}
    scene = mi.load_dict(d)
    image, direct = mi.render(scene, spp=4), scene.integrator().render(scene, spp=4)
    assert image.shape[2] == direct.shape[2] == 4 and np.array_equal(image, direct)
    bitmap = scene.sensors()[0].film().bitmap()  # files have it, as they may be looked at
    assert bitmap.channel_names() == ["R", "G", "B", "dd.T", "nn.X", "nn.Y", "nn.Z"]
    assert np.array_equal(np.array(bitmap)[..., 3:], image)


def test_derivatives_of_channels_without_a_colour():
    d = room(sky={"type": "constant", "radiance": 1.})
    d["wall"]["bsdf"] = {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.2, .3, .4]}}
    d["integrator"] = {"type": "aov", "aovs": "a:albedo"}
    scene = mi.load_dict(d)
    params = mi.traverse(scene)
    key = next(k for k in params.keys() if k.startswith("wall") and k.endswith("reflectance.value"))
    dr.enable_grad(params[key])
    params.update()
    image = mi.render(scene, params, spp=4)
    assert image.shape[2] == 3
    dr.backward(dr.sum(image[:, :, 1]))
    by_render = params[key].grad
    assert by_render.y[0] > 0 and by_render.x[0] == 0
    dr.set_grad(params[key], 0)
    weights = np.zeros(image.shape, np.float32)
    weights[..., 1] = 1
    scene.integrator().render_backward(scene, params, mi.TensorXf(weights), spp=4)
    assert params[key].grad.y[0] == pytest.approx(by_render.y[0], rel=1e-2) and params[key].grad.x[0] == 0


# ---- lights and cameras

def test_lights_say_what_they_fill():
    lamp = mi.load_dict({"type": "point", "position": [1, 2, 3]})
    assert np.allclose(np.array(lamp.bbox().min).ravel(), [1, 2, 3]) and np.allclose(np.array(lamp.bbox().max).ravel(), [1, 2, 3])
    scene = mi.load_dict({"type": "scene", "sky": {"type": "constant"}, "ball": {"type": "sphere", "radius": 2.,
                                                                                 "emitter": {"type": "area"}}})
    boxes = {e.class_name(): e.bbox() for e in scene.emitters()}
    assert np.allclose(np.array(boxes["AreaLight"].max).ravel(), 2)
    assert not np.all(boxes["ConstantBackgroundEmitter"].valid())


class Window(mi.Sensor):
    """Looks along -z; what it is given shows in the ray's origin."""

    def sample_ray(self, time, sample1, sample2, sample3, active=True):
        return mi.Ray3f(mi.Point3f(sample2.x, sample2.y, 1), mi.Vector3f(0, 0, -1)), mi.Spectrum(1)

    def sample_ray_differential(self, time, sample1, sample2, sample3, active=True):
        ray, weight = self.sample_ray(time, sample1, sample2, sample3, active)
        return mi.RayDifferential3f(ray), weight


def test_rays_of_cameras_go_through_the_crop_window():
    mi.register_sensor("window", Window)
    film = {"type": "hdrfilm", "width": 16, "height": 8, "rfilter": {"type": "box"}}
    crop = {**film, "crop_width": 4, "crop_height": 2, "crop_offset_x": 8, "crop_offset_y": 4}

    def rays(film, x, y, kind="perspective"):
        camera = mi.load_dict({"type": kind, "film": film})
        assert dr.allclose(camera.sample_ray(0, .5, [x, y], [.5, .5])[0].d,
                           camera.sample_ray_differential(0, .5, [x, y], [.5, .5])[0].d)
        return camera.sample_ray_differential(0, .5, [x, y], [.5, .5])[0]
    part, whole = rays(crop, .5, 1), rays(film, 10 / 16, 6 / 8)
    assert dr.allclose(part.d, whole.d) and dr.allclose(part.d_x, whole.d_x) and dr.allclose(part.d_y, whole.d_y)
    # A camera in Python is asked for places in the window, too: the plane shows where
    scene = mi.load_dict({"type": "scene", "plane": {"type": "rectangle"}, "integrator": {"type": "aov", "aovs": "p:position"},
                          "sensor": {"type": "window", "film": crop}})
    x = np.array(mi.render(scene, spp=64))[..., 0]
    assert x.shape == (2, 4) and np.allclose(x, (np.arange(4) + .5) / 4, atol=.03)


def test_cameras_without_a_focus_are_sharp_as_far_as_they_see():
    assert mi.load_dict({"type": "orthographic", "far_clip": 50.}).focus_distance() == 50
    assert mi.load_dict({"type": "thinlens", "aperture_radius": .1, "focus_distance": 7.}).focus_distance() == 7


# ---- second moments

def test_moments_give_the_variance_of_an_image():
    d = room(sky={"type": "constant", "radiance": 1.})
    d["sensor"]["sampler"] = {"type": "independent"}  # means of samples that know of each other spread less
    d["integrator"] = {"type": "moment", "inner": {"type": "path", "max_depth": 3}}
    scene = mi.load_dict(d)
    assert scene.integrator().aov_names() == ["m2.R", "m2.G", "m2.B"]
    many = np.array([mi.render(scene, spp=16, seed=s).numpy() for s in range(64)])
    mean, square = many[..., :3].mean(axis=0), many[..., -3:].mean(axis=0)
    per_sample = (square - mean ** 2).mean()
    # The spread of 64 means of 16 samples each; a variance of as many has a relative error of sqrt(2 / 63) a pixel
    spread = 16 * many[..., :3].var(axis=0, ddof=1).mean()
    assert per_sample == pytest.approx(spread, rel=.1) and per_sample > 0


@pytest.mark.parametrize("kind", ["moment", "aov"])
def test_integrators_around_others_hide_lights(kind):
    def centre(hidden):
        d = room(lamp={"type": "rectangle", "emitter": {"type": "area", "radiance": 3.}})
        del d["wall"]
        d["integrator"] = {"type": kind, "hide_emitters": hidden, "inner": {"type": "path"},
                           **({"aovs": "d:depth"} if kind == "aov" else {})}
        return mi.render(mi.load_dict(d), spp=4).numpy()[4, 4, 0]
    assert centre(False) == pytest.approx(3) and centre(True) == 0


def test_rays_pass_lights_that_are_skipped():
    lamp = {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, 0, 2]), "emitter": {"type": "area"}}
    scene = mi.load_dict({"type": "scene", "lamp": lamp, "wall": {"type": "rectangle"}})
    ray = mi.Ray3f(mi.Point3f([0, 9], 0, 5), mi.Vector3f(0, 0, -1))
    pi = mi.load_dict({"type": "path"}).skip_area_emitters(scene, ray, True, True)
    assert dr.all(pi.is_valid() == mi.Bool([True, False]))
    si = pi.compute_surface_interaction(ray)
    assert si.t.numpy()[0] == pytest.approx(5, abs=1e-3) and si.p.numpy()[2, 0] == pytest.approx(0, abs=1e-3)


def test_a_regression_test_tells_scenes_apart(tmp_path):
    def scene(albedo):
        d = room(sky={"type": "constant", "radiance": 1.})
        d["integrator"] = {"type": "moment", "inner": {"type": "path", "max_depth": 3}}
        d["wall"]["bsdf"] = {"type": "diffuse", "reflectance": albedo}
        return mi.load_dict(d)
    options = dict(test_spp=64, ref_spp=1024, references_folder=str(tmp_path))
    RegressionTest = mi.testing.RenderingRegressionTest
    assert RegressionTest("room", scene(.5), generate_ref=True, **options).run()
    assert not RegressionTest("room", scene(.8), **options).run()
    with pytest.raises(mi.UserError, match="moment"):
        RegressionTest("room", mi.load_dict(room()), **options).run()
