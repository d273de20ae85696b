# umbel/_geometry.py: frames, boxes and spheres around things, spherical coordinates.
from . import _core
from . import jit as dr
from ._fields import Typed
from ._variant_types import Fields, resolve


def coordinate_system(n):
    """Two directions that make an orthonormal basis with the unit vector n, without branches [Duff 2017]."""
    V = resolve("Vector3f")
    n = V(n)
    sign = dr.select(n.z < 0, -1.0, 1.0)
    a = -1 / (sign + n.z)
    b = n.x * n.y * a
    return (V(dr.fma(sign * n.x * n.x, a, 1), sign * b, -sign * n.x), V(b, dr.fma(n.y * n.y, a, sign), -n.y))


def sph_to_dir(theta, phi):
    """The direction of spherical coordinates."""
    st, ct = dr.sincos(theta)
    sp, cp = dr.sincos(phi)
    return resolve("Vector3f")(cp * st, sp * st, ct)


def dir_to_sph(v):
    """(theta, phi) of a unit vector."""
    return resolve("Point2f")(dr.safe_acos(v.z), dr.atan2(v.y, v.x))


class Frame3f(Typed):
    """Three directions, s, t and n, that are perpendicular and of unit length."""
    _kinds = {"s": "Vector3f", "t": "Vector3f", "n": "Vector3f"}
    DRJIT_STRUCT = Fields(s="Vector3f", t="Vector3f", n="Vector3f")

    def __init__(self, *args):
        V = resolve("Vector3f")
        if not args:
            self.s, self.t, self.n = V(0), V(0), V(0)
        elif len(args) == 3:
            self.s, self.t, self.n = (V(a) for a in args)
        elif isinstance(args[0], Frame3f):
            self.assign(args[0])
        else:
            self.n = V(args[0])
            self.s, self.t = coordinate_system(self.n)

    def to_world(self, v):
        """From the frame's coordinates to the world's."""
        return dr.fma(self.n, v[2], dr.fma(self.t, v[1], self.s * v[0]))

    def to_local(self, v):
        """From the world's coordinates to the frame's."""
        return resolve("Vector3f")(dr.dot(v, self.s), dr.dot(v, self.t), dr.dot(v, self.n))

    # ---- of a direction in a frame's coordinates: theta is the angle to n, phi that around it

    @staticmethod
    def cos_theta(v): return v.z
    @staticmethod
    def cos_theta_2(v): return dr.square(v.z)
    @staticmethod
    def sin_theta_2(v): return dr.fma(v.x, v.x, dr.square(v.y))
    @staticmethod
    def sin_theta(v): return dr.safe_sqrt(Frame3f.sin_theta_2(v))
    @staticmethod
    def tan_theta_2(v): return dr.maximum(dr.fma(-v.z, v.z, 1), 0) / dr.square(v.z)
    @staticmethod
    def tan_theta(v): return dr.safe_sqrt(dr.fma(-v.z, v.z, 1)) / v.z

    @staticmethod
    def sincos_phi(v):
        """Of the pole, the angle 0."""
        s2 = Frame3f.sin_theta_2(v)
        pole, r = dr.abs(s2) <= 4 * dr.epsilon(type(v.x)), dr.rsqrt(s2)
        return (dr.select(pole, 0.0, dr.clip(v.y * r, -1, 1)), dr.select(pole, 1.0, dr.clip(v.x * r, -1, 1)))

    @staticmethod
    def sin_phi(v): return Frame3f.sincos_phi(v)[0]
    @staticmethod
    def cos_phi(v): return Frame3f.sincos_phi(v)[1]
    @staticmethod
    def sincos_phi_2(v): return tuple(dr.square(e) for e in Frame3f.sincos_phi(v))
    @staticmethod
    def sin_phi_2(v): return dr.square(Frame3f.sincos_phi(v)[0])
    @staticmethod
    def cos_phi_2(v): return dr.square(Frame3f.sincos_phi(v)[1])

    def __eq__(self, other):
        return dr.all(self.s == other.s) & dr.all(self.t == other.t) & dr.all(self.n == other.n)

    __hash__ = object.__hash__
    def __repr__(self): return f"Frame[\n  s={self.s},\n  t={self.t},\n  n={self.n}\n]"


class _Box(Typed):
    """All points between `min` and `max`. Without arguments it contains nothing."""
    _n, _prefix = 3, ""

    def __init__(self, min=None, max=None):
        P = resolve(f"{self._prefix}Point{self._n}f")
        if isinstance(min, _Box):
            self.min, self.max = P(min.min), P(min.max)
        elif min is None:
            self.reset()
        else:
            self.min, self.max = P(min), P(min if max is None else max)

    def reset(self):
        """Makes it empty."""
        P = resolve(f"{self._prefix}Point{self._n}f")
        self.min, self.max = P(dr.inf), P(-dr.inf)

    def valid(self): return dr.all(self.max >= self.min)
    def collapsed(self): return dr.any(self.max == self.min)
    def extents(self): return resolve(f"{self._prefix}Vector{self._n}f")(self.max - self.min)
    def center(self): return (self.max + self.min) * 0.5
    def volume(self): return dr.prod(self.extents())

    def surface_area(self):
        e = self.extents()
        return 2 * (e.x + e.y) if self._n == 2 else 2 * (e.x * e.y + e.y * e.z + e.x * e.z)

    def corner(self, index):
        """One of the corners; bit i chooses `max` along axis i."""
        return resolve(f"{self._prefix}Point{self._n}f")(*((self.max if index >> i & 1 else self.min)[i] for i in range(self._n)))

    def major_axis(self): return self._axis(lambda a, b: a > b)
    def minor_axis(self): return self._axis(lambda a, b: a < b)

    def _axis(self, better):
        e, best = self.extents(), 0
        value = e[0]
        index = resolve("UInt32")(0)
        for i in range(1, self._n):
            take = better(e[i], value)
            index, value = dr.select(take, resolve("UInt32")(i), index), dr.select(take, e[i], value)
        return index

    def contains(self, p=None, strict=False, bbox=None):
        """Whether a point or box is inside; `strict`: not on the border."""
        other = p if bbox is None else bbox
        low, high = (other.min, other.max) if isinstance(other, _Box) else (self._point(other),) * 2
        if strict:
            return dr.all((low > self.min) & (high < self.max))
        return dr.all((low >= self.min) & (high <= self.max))

    def overlaps(self, bbox, strict=False):
        if strict:
            return dr.all((bbox.min < self.max) & (bbox.max > self.min))
        return dr.all((bbox.min <= self.max) & (bbox.max >= self.min))

    def squared_distance(self, other):
        low, high = (other.min, other.max) if isinstance(other, _Box) else (self._point(other),) * 2
        return dr.squared_norm(dr.maximum(dr.maximum(self.min - high, low - self.max), 0))

    def distance(self, other): return dr.sqrt(self.squared_distance(other))
    def _point(self, p): return resolve(f"{self._prefix}Point{self._n}f")(p)

    def expand(self, other):
        """Grows to contain a point or box."""
        low, high = (other.min, other.max) if isinstance(other, _Box) else (self._point(other),) * 2
        self.min, self.max = dr.minimum(self.min, low), dr.maximum(self.max, high)

    def clip(self, other):
        """Shrinks to what is also in another box."""
        self.min, self.max = dr.maximum(self.min, other.min), dr.minimum(self.max, other.max)

    @classmethod
    def merge(cls, a, b):
        """The smallest box around two."""
        return cls(dr.minimum(a.min, b.min), dr.maximum(a.max, b.max))

    def ray_intersect(self, ray):
        """(whether, from, to): the part of a ray's line that is inside."""
        parallel = ray.d == 0
        safe = dr.select(parallel, 1.0, ray.d)
        t1, t2 = (self.min - ray.o) / safe, (self.max - ray.o) / safe
        inside = ~parallel | ((ray.o >= self.min) & (ray.o <= self.max))
        near = dr.max(dr.select(parallel, -dr.inf, dr.minimum(t1, t2)))
        far = dr.min(dr.select(parallel, dr.inf, dr.maximum(t1, t2)))
        return dr.all(inside) & (far >= near), near, far

    def bounding_sphere(self):
        c = self.center()
        return BoundingSphere3f(c, dr.norm(self.max - c))

    def __eq__(self, other): return dr.all(self.min == other.min) & dr.all(self.max == other.max)
    def __ne__(self, other): return ~(self == other)
    __hash__ = object.__hash__

    def __repr__(self):
        name = type(self).__name__
        if _core.width(self.min) == 1 and not dr.all(self.valid()):
            return f"{name}[invalid]"
        return f"{name}[\n  min = {self.min},\n  max = {self.max}\n]"


class BoundingBox2f(_Box):
    """A rectangle with sides along the axes."""
    DRJIT_STRUCT = Fields(min="Point2f", max="Point2f")
    _kinds = {"min": "Point2f", "max": "Point2f"}
    _n = 2


class BoundingBox3f(_Box):
    """A box with sides along the axes."""
    DRJIT_STRUCT = Fields(min="Point3f", max="Point3f")
    _kinds = {"min": "Point3f", "max": "Point3f"}


class BoundingSphere3f(Typed):
    """All points within `radius` of `center`."""
    _kinds = {"center": "Point3f", "radius": "Float"}
    DRJIT_STRUCT = Fields(center="Point3f", radius="Float")
    _prefix = ""

    def __init__(self, center=0, radius=0):
        if isinstance(center, BoundingSphere3f):
            center, radius = center.center, center.radius
        self.center = resolve(self._prefix + "Point3f")(center)
        self.radius = resolve(self._prefix + "Float")(radius)

    def empty(self): return self.radius <= 0

    def contains(self, p, strict=False):
        d, r = dr.squared_norm(resolve(self._prefix + "Point3f")(p) - self.center), dr.square(self.radius)
        return d < r if strict else d <= r

    def expand(self, p):
        """Grows to contain a point."""
        self.radius = dr.maximum(self.radius, dr.norm(resolve(self._prefix + "Point3f")(p) - self.center))

    def ray_intersect(self, ray):
        """(whether, from, to): the part of a ray's line that is inside."""
        from .math import solve_quadratic
        o = ray.o - self.center
        return solve_quadratic(dr.squared_norm(ray.d), 2 * dr.dot(o, ray.d),
                               dr.squared_norm(o) - dr.square(self.radius))

    def __eq__(self, other): return dr.all(self.center == other.center) & (self.radius == other.radius)
    def __ne__(self, other): return ~(self == other)
    __hash__ = object.__hash__
    def __repr__(self):
        if _core.width(self.radius) == 1 and dr.all(self.empty()):
            return "BoundingSphere3f[empty]"
        return f"BoundingSphere3f[\n  center = {self.center},\n  radius = {self.radius}\n]"


class ScalarBoundingBox2f(BoundingBox2f):
    """A box of points without lanes."""
    _prefix = "Scalar"


class ScalarBoundingBox3f(BoundingBox3f):
    """A box of points without lanes."""
    _prefix = "Scalar"


class ScalarBoundingSphere3f(BoundingSphere3f):
    """A sphere of one center and radius."""
    _prefix = "Scalar"


ScalarFrame3f = Frame3f
__all__ = ["coordinate_system", "sph_to_dir", "dir_to_sph", "Frame3f", "ScalarFrame3f", "BoundingBox2f", "BoundingBox3f",
           "BoundingSphere3f", "ScalarBoundingBox2f", "ScalarBoundingBox3f", "ScalarBoundingSphere3f"]
