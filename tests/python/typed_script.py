# tests/python/typed_script.py: a script as users write them; package_test.py has mypy look at it.
from typing_extensions import assert_type

import umbel as mi
import umbel.jit as dr
from umbel.jit.auto import Array3f, Bool, Float, Int, TensorXf, UInt

mi.set_variant("llvm_ad_rgb")
scene = mi.load_dict(mi.cornell_box())
image = mi.render(scene, spp=4)
assert_type(image, TensorXf)
assert_type(mi.variants(), list[str])
sensors = scene.sensors()
params = mi.traverse(scene)
assert_type(params, mi.SceneParameters)

x = dr.arange(Float, 10)
assert_type(x, Float)
assert_type(x + 1, Float)
assert_type(2.5 * x, Float)
assert_type(x / 2, Float)
assert_type(-x, Float)
assert_type(x > 1, Bool)
assert_type(dr.sin(x), Float)
assert_type(dr.sin(0.5), float)
assert_type(dr.sincos(x), tuple[Float, Float])
v = dr.zeros(Array3f, 10)
assert_type(v, Array3f)
assert_type(v.x, Float)
assert_type(v[0], Float)
assert_type(dr.normalize(v * 2), Array3f)
i = dr.arange(UInt, 10)
assert_type(i + 1, UInt)
assert_type(dr.gather(Float, x, i), Float)
assert_type(dr.select(x > 1, x, 0 * x), Float)
assert_type(dr.while_loop((i, x), lambda i, x: i < 3, lambda i, x: (i + 1, x * 2)), tuple[UInt, Float])
assert_type(dr.grad(x), Float)
assert_type(dr.shape(image), tuple[int, ...])
assert_type(mi.Float(1) + 1, Float)
mi.load_file("scene.xml").sensors()
mi.load_dict({"type": "diffuse"}).flags()
