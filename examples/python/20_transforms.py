"""Transforms: made, chained, inverted, applied to points, vectors and normals, and differentiated."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T, close = mi.Transform4f, lambda a, b: np.allclose(np.array(a).ravel(), b, atol=1e-5)

# ---- A chain is read from the right: scaled first, then turned, then moved
t = T().translate([1, 0, 0]).rotate([0, 0, 1], 90).scale(2)
assert close(t @ mi.Point3f(1, 0, 0), [1, 2, 0])
assert close(t.matrix @ mi.Vector4f(1, 0, 0, 1), [1, 2, 0, 1])

# ---- Points move, vectors have no place, and normals stay perpendicular to what they are normal to
squash = T().scale([1, 1, 0.5])
along, normal = mi.Vector3f(1, 0, 1), mi.Normal3f(1, 0, -1)
assert close(t @ mi.Vector3f(1, 0, 0), [0, 2, 0])
assert np.isclose(np.array(dr.dot(squash @ along, squash @ normal)).item(), 0, atol=1e-6)
assert not np.isclose(np.array(dr.dot(squash @ along, squash @ mi.Vector3f(normal))).item(), 0, atol=1e-2)

# ---- There and back again
assert close(t.inverse() @ (t @ mi.Point3f(3, 4, 5)), [3, 4, 5])

# ---- A camera: `look_at` goes from the camera's space, which looks along z, to the world's
camera = T().look_at(origin=[0, -5, 2], target=[0, 0, 0], up=[0, 0, 1])
assert close(camera @ mi.Point3f(0, 0, 0), [0, -5, 2])
assert close(camera @ mi.Point3f(0, 0, 29 ** 0.5), [0, 0, 0])

# ---- A frame: three axes around a normal
n = dr.normalize(mi.Vector3f(1, 2, 3))
frame = mi.Frame3f(n)
assert close(T().to_frame(frame) @ mi.Vector3f(0, 0, 1), np.array(n).ravel())
assert close(frame.to_local(n), [0, 0, 1])

# ---- A projection divides by the last coordinate: what is farther away is smaller
projection = mi.perspective_projection([100, 100], [100, 100], [0, 0], 90.0, 0.1, 10.0)
near, far = projection @ mi.Point3f(0.5, 0, 1), projection @ mi.Point3f(0.5, 0, 2)
assert abs(near.x[0] - 0.5) > abs(far.x[0] - 0.5)

# ---- Arrays in the place of numbers make as many transforms as there are lanes
turn = T().rotate([0, 0, 1], dr.linspace(mi.Float, 0, 90, 4))
points = turn @ mi.Point3f(1, 0, 0)
assert np.allclose(np.array(points.y), np.sin(np.radians([0, 30, 60, 90])), atol=1e-5)

# ---- And derivatives: how fast a point on a wheel moves as the wheel turns, in radians
angle = mi.Float(30)
dr.enable_grad(angle)
p = T().rotate([0, 0, 1], dr.rad2deg(dr.deg2rad(angle))) @ mi.Point3f(2, 0, 0)
dr.forward(angle)
speed = np.array(dr.grad(p)).ravel() * 180 / np.pi
print("speed:", speed)
assert np.allclose(speed, [-2 * np.sin(np.radians(30)), 2 * np.cos(np.radians(30)), 0], atol=1e-4)
