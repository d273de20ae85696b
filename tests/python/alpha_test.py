# tests/python/alpha_test.py: what covers a pixel, and what is seen where lights are hidden.
import pytest

import umbel as mi

FOLLOWING = ["path", "prb", "volpath", "volpathmis", "prbvolpath"]  # through what lets light pass
ALL = [*FOLLOWING, "direct"]
SKY = {"sky": {"type": "constant", "radiance": .5}}


def plane(z, **inside):
    return {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, 0, z]).scale(9), **inside}


def seen(integrator, objects, hide=False, **settings):
    """Red and alpha, as means over the image."""
    film = {"type": "hdrfilm", "width": 4, "height": 4, "pixel_format": "rgba", "rfilter": {"type": "box"}}
    camera = {"type": "perspective", "fov": 40, "film": film, "sampler": {"type": "independent"},
              "to_world": mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0])}
    image = mi.render(mi.load_dict({"type": "scene", "integrator": {"type": integrator, "hide_emitters": hide, **settings},
                                    "camera": camera, **objects}), spp=256).numpy()
    return image[..., 0].mean(), image[..., 3].mean()


@pytest.mark.parametrize("integrator", ALL)
def test_an_environment_covers_pixels_where_it_is_seen(integrator):
    assert seen(integrator, SKY) == pytest.approx((.5, 1))
    assert seen(integrator, SKY, hide=True) == (0, 0)
    assert seen(integrator, {"light": {"type": "point"}}) == (0, 0)
    assert seen(integrator, {"wall": plane(0)})[1] == 1


@pytest.mark.parametrize("integrator", FOLLOWING)
def test_what_lets_light_pass_covers_as_much_as_it_stops(integrator):
    leaf = {"leaf": plane(0, bsdf={"type": "mask", "opacity": .25, "inside": {"type": "diffuse"}})}
    glass = {"glass": plane(0, bsdf={"type": "null"})}
    assert seen(integrator, leaf)[1] == pytest.approx(.25, abs=4 * (.25 * .75 / 4096) ** .5)
    assert seen(integrator, glass)[1] == 0
    assert seen(integrator, {**SKY, **glass}, hide=True) == (0, 0)  # the sky behind it stays hidden


@pytest.mark.parametrize("integrator", ALL)
def test_hidden_lights_show_what_is_behind_them(integrator):
    # A lamp that shines at the camera, and a lit wall behind it
    lamp = {"lamp": plane(1, bsdf={"type": "diffuse", "reflectance": 0.}, emitter={"type": "area", "radiance": 3.})}
    wall = {"wall": plane(0), "light": {"type": "point", "position": [0, 0, .9], "intensity": 1.}}
    depth = {} if integrator == "direct" else {"max_depth": 2}
    alone = seen(integrator, wall, **depth)
    assert seen(integrator, {**lamp, **wall})[0] == pytest.approx(3)
    assert alone[0] > .01 and seen(integrator, {**lamp, **wall}, hide=True, **depth) == pytest.approx(alone, rel=.03)
    assert seen(integrator, lamp, hide=True) == (0, 0)
    ball = {"ball": {"type": "sphere", "emitter": {"type": "area"}}}  # both of its sides
    assert seen(integrator, {**ball, "wall": plane(-3)}, hide=True)[1] == 1
    assert seen(integrator, ball, hide=True) == (0, 0)
