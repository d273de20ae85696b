"""Mueller matrices of optical elements, and the frames that they refer to.

A Stokes vector belongs to a direction of travel and to an axis perpendicular to it, by default stokes_basis(direction).
Arguments are numbers, arrays, or spectra, which give a matrix for each channel."""
from . import _core
from . import jit as dr
from ._geometry import coordinate_system
from ._optics import fresnel_parts
from ._variant_types import resolve


def _matrix(rows):
    """A matrix of 16 numbers, arrays or spectra, row by row."""
    Float = resolve("Float")
    channels = [len(_core.entries(e)) for e in rows if isinstance(e, dr.ArrayBase) and dr.depth_v(e) > 1]
    n = max(channels, default=0)
    if any(c != n for c in channels):
        raise TypeError(f"a Mueller matrix of spectra of {channels} channels cannot be made")
    flat = []
    for e in rows:
        spectrum = isinstance(e, dr.ArrayBase) and dr.depth_v(e) > 1
        flat += _core.entries(e) if spectrum else [Float(e)] * max(n, 1)
    leaf = next((type(e) for e in flat if type(e) is not Float), Float)
    return _core.from_entries(_core.lookup(_core.describe(leaf)[0], 1, (4, 4, n) if n else (4, 4), 0),
                              [leaf(e) for e in flat])


def depolarizer(value=1.0):
    """Makes light unpolarized and scales it."""
    return _matrix([value] + [0.0] * 15)


def absorber(value):
    """Scales light, whatever its polarization."""
    return _matrix([value if i % 5 == 0 else 0.0 for i in range(16)])


def linear_polarizer(value=1.0):
    """Lets through what oscillates along the frame's axis, times `value`."""
    a = value * 0.5
    return _matrix([a, a, 0., 0., a, a, 0., 0.] + [0.0] * 8)


def linear_retarder(phase):
    """Delays one component against the other, by radians."""
    s, c = dr.sincos(phase)
    return _matrix([1., 0., 0., 0., 0., 1., 0., 0., 0., 0., c, s, 0., 0., -s, c])


def _circular(sign):
    b = 0.5 * sign
    return _matrix([0.5, 0., 0., b] + [0.0] * 8 + [b, 0., 0., 0.5])


def right_circular_polarizer(): return _circular(1)
def left_circular_polarizer(): return _circular(-1)


def diattenuator(x, y):
    """Scales the components along the axis (x) and across it (y)."""
    a, b, c = 0.5 * (x + y), 0.5 * (x - y), dr.sqrt(x * y)
    return _matrix([a, b, 0., 0., b, a, 0., 0., 0., 0., c, 0., 0., 0., 0., c])


def rotator(theta):
    """Rotates the frame by an angle, counter-clockwise looking against the light."""
    s, c = dr.sincos(2 * theta)
    return _matrix([1., 0., 0., 0., 0., c, s, 0., 0., -s, c, 0., 0., 0., 0., 1.])


def rotated_element(theta, M):
    """The element turned by an angle."""
    return _product(rotator(-theta), _product(M, rotator(theta)))


def _product(a, b):
    """Of matrices of numbers and of spectra."""
    if type(a) is not type(b):
        a, b = ((_matrix([m[i][j] for i in range(4) for j in range(4)]) if dr.depth_v(m) == 4 else m) for m in (a, b))
        wide = next((m for m in (a, b) if dr.depth_v(m) == 4), None)
        if wide is not None:
            one = type(wide[0][0])
            a, b = (m if dr.depth_v(m) == 4 else _matrix([one(m[i][j]) for i in range(4) for j in range(4)])
                    for m in (a, b))
    return a @ b


def specular_reflection(cos_theta_i, eta):
    """Reflection at a smooth interface of complex relative index eta; frames are perpendicular to the plane of
    incidence."""
    a_s, a_p = fresnel_parts(cos_theta_i, eta)[:2]
    r_s, r_p = a_s.norm2(), a_p.norm2()
    # a_s conj(a_p) has the phase difference as its argument, and the product of amplitudes as its length
    c, s = a_s.re * a_p.re + a_s.im * a_p.im, a_s.im * a_p.re - a_s.re * a_p.im
    a, b = 0.5 * (r_s + r_p), 0.5 * (r_s - r_p)
    return _matrix([a, b, 0., 0., b, a, 0., 0., 0., 0., c, s, 0., 0., -s, c])


def specular_transmission(cos_theta_i, eta):
    """Transmission through a smooth interface of dielectrics, without the change of solid angle."""
    if not isinstance(cos_theta_i, dr.ArrayBase):
        cos_theta_i = resolve("Float")(cos_theta_i)
    eta_it, cos_i = dr.select(cos_theta_i >= 0, eta, 1 / eta), dr.abs(cos_theta_i)
    cos_t_2 = 1 - (1 - dr.square(cos_i)) / dr.square(eta_it)
    cos_t = dr.safe_sqrt(cos_t_2)
    t_s, t_p = 2 * cos_i / (cos_i + eta_it * cos_t), 2 * cos_i / (eta_it * cos_i + cos_t)
    # Amplitudes squared become powers by the ratio of indices and of the beams' cross sections
    factor = dr.select((cos_t_2 > 0) & (cos_i > 1e-8), eta_it * cos_t / cos_i, 0.0)
    a, b = 0.5 * factor * (t_s * t_s + t_p * t_p), 0.5 * factor * (t_s * t_s - t_p * t_p)
    c = factor * t_s * t_p
    return _matrix([a, b, 0., 0., b, a, 0., 0., 0., 0., c, 0., 0., 0., 0., c])


# ---- frames

def stokes_basis(w):
    """The axis that Stokes vectors of light along w refer to."""
    return coordinate_system(w)[0]


def unit_angle(a, b):
    """The angle between two unit vectors, exact also where it is small [Kahan 2006]."""
    d = dr.dot(a, b)
    theta = 2 * dr.safe_asin(0.5 * dr.norm(b - dr.select(d < 0, -a, a)))
    return dr.select(d < 0, dr.pi - theta, theta)


def rotate_stokes_basis(wi, basis_current, basis_target):
    """Changes the frame of light along wi from one axis to another."""
    V = resolve("Vector3f")
    a, b = dr.normalize(V(basis_current)), dr.normalize(V(basis_target))
    theta = unit_angle(a, b)
    return rotator(dr.select(dr.dot(V(wi), dr.cross(a, b)) < 0, -theta, theta))


def rotate_stokes_basis_m(wi, basis_current, basis_target):
    """The same, for spectra."""
    m = rotate_stokes_basis(wi, basis_current, basis_target)
    one = resolve("UnpolarizedSpectrum")
    return _matrix([one(m[i][j]) for i in range(4) for j in range(4)])


def rotate_mueller_basis(M, in_forward, in_basis_current, in_basis_target, out_forward, out_basis_current,
                         out_basis_target):
    """The matrix in other frames, on both sides."""
    to = rotate_stokes_basis(out_forward, out_basis_current, out_basis_target)
    back = rotate_stokes_basis(in_forward, in_basis_target, in_basis_current)
    return _product(to, _product(M, back))


def rotate_mueller_basis_collinear(M, forward, basis_current, basis_target):
    """The same where light goes straight on."""
    return rotate_mueller_basis(M, forward, basis_current, basis_target, forward, basis_current, basis_target)
