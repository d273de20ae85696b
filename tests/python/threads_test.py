# tests/python/threads_test.py: scenes belong to no thread.
import sys
import threading

import numpy as np

import umbel as mi
import umbel.jit as dr

COUNT = 8


def make(radius=1.0):
    return mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "light": {"type": "constant"},
                         "ball": {"type": "sphere", "radius": radius, "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.5, .5, .5]}}},
                         "sensor": {"type": "perspective", "fov": 30,
                                    "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                                    "film": {"type": "hdrfilm", "width": 16, "height": 16}}})


def radius(i):
    return 0.5 + i / 10


def in_threads(work):
    """work(0) to work(7), each in a thread of its own, at once."""
    results, errors = [None] * COUNT, []

    def run(i):
        try:
            results[i] = work(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(COUNT)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # many changes between them
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]
    return results


def test_eight_threads_render_one_scene(variant):
    scene = make()
    expected = [mi.render(scene, spp=32, seed=i).numpy() for i in range(COUNT)]
    for _ in range(3):
        images = in_threads(lambda i: mi.render(scene, spp=32, seed=i).numpy())
        assert all((a == b).all() for a, b in zip(images, expected))


def test_eight_threads_render_scenes_of_their_own(variant):
    expected = [mi.render(make(radius(i)), spp=32, seed=i).numpy() for i in range(COUNT)]
    images = in_threads(lambda i: mi.render(make(radius(i)), spp=32, seed=i).numpy())
    assert all((a == b).all() for a, b in zip(images, expected))


def test_a_scene_of_one_thread_is_rendered_changed_and_dropped_in_others(variant):
    expected = [mi.render(make(radius(i)), spp=8, seed=i).numpy() for i in range(COUNT)]
    scenes = in_threads(lambda i: make(radius(i)))
    images = in_threads(lambda i: mi.render(scenes[COUNT - 1 - i], spp=8, seed=COUNT - 1 - i).numpy())
    assert all((a == b).all() for a, b in zip(images[::-1], expected))

    def change(i):
        params = mi.traverse(scenes[i])
        params["ball.bsdf.reflectance.value"] = mi.Color3f(0.25)
        params.update()
        return mi.render(scenes[i], spp=8, seed=i).numpy()
    darker = in_threads(change)
    assert all(a.mean() < b.mean() for a, b in zip(darker, expected))
    in_threads(lambda i: scenes.__setitem__(i, None))
    assert (mi.render(make(radius(3)), spp=8, seed=3).numpy() == expected[3]).all()


def test_derivatives_of_scenes_of_other_threads(variant):
    key = "ball.bsdf.reflectance.value"

    def gradient(scene, i):
        params = mi.traverse(scene)
        dr.enable_grad(params[key])
        params.update()
        dr.backward(dr.mean(mi.render(scene, params, spp=8, seed=i), axis=None))
        return np.array(dr.grad(params[key]))
    expected = [gradient(make(radius(i)), i) for i in range(COUNT)]
    scenes = [make(radius(i)) for i in range(COUNT)]
    found = in_threads(lambda i: gradient(scenes[i], i))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected))


def test_scenes_of_other_variants_are_rendered_in_theirs():
    # Their films were developed in the variant of the script: "operand 2 belongs to another context"
    images = {}
    for name in ("interp_rgb", "llvm_rgb", "interp_mono_double"):
        with mi.set_variant(name):
            images[name] = (make(), np.array(mi.render(make(), spp=2, seed=3)))
    for chosen in images:
        with mi.set_variant(chosen):
            for scene, want in images.values():
                assert np.array_equal(np.array(mi.render(scene, spp=2, seed=3)), want)


def test_looking_at_a_scene_of_another_variant_leaves_it_as_it_is():
    with mi.set_variant("interp_rgb"):
        scene = make()
        want = np.array(mi.render(scene, spp=2, seed=3))
    with mi.set_variant("llvm_rgb"):
        assert "radius" in repr(scene)
        assert "ball.bsdf.reflectance.value" in mi.traverse(scene)
    with mi.set_variant("interp_rgb"):
        assert np.array_equal(np.array(mi.render(scene, spp=2, seed=3)), want)


def test_eight_threads_change_parameters_of_one_scene():
    balls = {f"ball{i}": {"type": "sphere", "radius": .1, "bsdf": {"type": "diffuse"}} for i in range(40)}
    scene = mi.load_dict({"type": "scene", **balls})
    for _ in range(3):
        params = mi.traverse(scene)

        def work(i):
            for k in params.keys()[i::COUNT]:  # each makes itself known when it is asked for
                params[k] = params[k]
                params.update()
            return True
        assert all(in_threads(work)) and len(params.values()) == len(params)
