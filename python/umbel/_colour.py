# umbel/_colour.py: colours, spectra and wavelengths.
from . import _core
from . import jit as dr
from ._variant_types import resolve

MI_CIE_MIN, MI_CIE_MAX = 360.0, 830.0  # nm
MI_CIE_Y_NORMALIZATION = 1 / _core.cie_y_integral


# ITU-R BT.709 with the white of D65, as scripts expect them to the last digit; the renderer derives its own of the primaries.
srgb_to_xyz_rows = ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227))
xyz_to_srgb_rows = ((3.240479, -1.537150, -0.498535), (-0.969256, 1.875991, 0.041556), (0.055648, -0.204043, 1.057311))


def _multiply(rows, c):
    return resolve("Color3f")(*(dr.fma(c[2], r[2], dr.fma(c[1], r[1], c[0] * r[0])) for r in rows))


def srgb_to_xyz(rgb, active=True):
    """CIE XYZ of a linear sRGB colour."""
    return _multiply(srgb_to_xyz_rows, resolve("Color3f")(rgb))


def xyz_to_srgb(xyz, active=True):
    """Linear sRGB of a CIE XYZ colour."""
    return _multiply(xyz_to_srgb_rows, resolve("Color3f")(xyz))


def luminance(value, wavelengths=None, active=True):
    """Y of a linear sRGB colour, of one number, or of a spectrum's samples at `wavelengths`."""
    if isinstance(value, dr.ArrayBase) and dr.depth_v(value) == 1:
        return value
    if wavelengths is not None and len(_core.entries(wavelengths)) and dr.depth_v(wavelengths) > 1:
        samples = zip(_core.entries(value), _core.entries(wavelengths))
        total = sum(cie1931_y(w) * v for v, w in samples)
        return total / len(_core.entries(wavelengths))
    c = value if isinstance(value, dr.ArrayBase) else resolve("Color3f")(value)
    if len(_core.entries(c)) == 1:
        return c[0]
    if len(_core.entries(c)) != 3:
        raise TypeError("luminance() of a spectrum needs its wavelengths")
    r = srgb_to_xyz_rows[1]
    return dr.fma(c[2], r[2], dr.fma(c[1], r[1], c[0] * r[0]))


# ---- tables; each of several wavelengths at once, too

def _each(f, wavelengths):
    if isinstance(wavelengths, dr.ArrayBase) and dr.depth_v(wavelengths) > 1:
        return _core.from_entries(type(wavelengths), [f(w) for w in _core.entries(wavelengths)])
    return f(wavelengths)


def cie1931_xyz(wavelength):
    """CIE's colour matching functions of 1931 at a wavelength in nm."""
    return _core.cie1931_xyz(wavelength) * _core.cie_y_integral


def cie1931_y(wavelength):
    """The second of them."""
    return _each(lambda w: cie1931_xyz(w)[1], wavelength)


def cie_d65(wavelength):
    """CIE's illuminant D65, whose luminance is 1."""
    return _each(_core.d65, wavelength)


def linear_rgb_rec(wavelength):
    """Matching functions of linear sRGB."""
    return xyz_to_srgb(cie1931_xyz(wavelength))


def sample_rgb_spectrum(sample):
    """(wavelength, inverse of its density) near to the eye's sensitivity [Radziszewski 2009]."""
    w = _each(_core.sample_wavelength, sample)
    return w, 1 / pdf_rgb_spectrum(w)


def pdf_rgb_spectrum(wavelengths):
    """The density of such wavelengths, per nm."""
    return _each(_core.sample_wavelength_pdf, wavelengths)


def sample_shifted(sample):
    """Four numbers of [0, 1), evenly spaced around the given one, which is the first."""
    u = sample if isinstance(sample, dr.ArrayBase) else resolve("Float")(sample)
    return resolve("Array4f")(*(v - dr.select(v >= 1, 1, 0) for v in (u + 0.25 * i for i in range(4))))


def _colour_of(matching, value, wavelengths, active):
    parts = [matching(w) * v for v, w in zip(_core.entries(value), _core.entries(wavelengths))]
    return dr.select(active, resolve("Color3f")(sum(parts) * (MI_CIE_Y_NORMALIZATION / len(parts))), 0)


def spectrum_to_xyz(value, wavelengths, active=True):
    """CIE XYZ of light with these values at wavelengths in nm, the mean over them; one of value 1 everywhere, divided by the
    density of its wavelengths, has a luminance of 1."""
    return _colour_of(cie1931_xyz, value, wavelengths, active)


def spectrum_to_srgb(value, wavelengths, active=True):
    """Its linear sRGB colour."""
    return _colour_of(linear_rgb_rec, value, wavelengths, active)


def sample_wavelength(u):
    """A wavelength in nm with that density."""
    return _each(_core.sample_wavelength, u)


# ---- spectra for colours [Jakob 2019]

def srgb_model_fetch(rgb):
    """Coefficients of a smooth reflectance whose colour is the given one, linear sRGB in [0, 1]. Of many colours they come
    from a table, which is off by up to 0.004."""
    if isinstance(rgb, dr.ArrayBase) and (_core.width(rgb) > 1 or dr.grad_enabled(rgb)):
        return resolve("Array3f")(_core.table_coefficients(rgb))
    c = [float(e[0]) if isinstance(e, dr.ArrayBase) else float(e) for e in rgb]
    return resolve("Array3f")(*_core.rgb_to_coefficients(c))


def srgb_model_eval(coeff, wavelengths):
    """That reflectance at wavelengths in nm."""
    return _each(lambda w: _core.eval_coefficients(coeff, w), wavelengths)


def srgb_model_mean(coeff):
    """Its mean over all wavelengths, by quadrature."""
    nodes, weights = _core.gauss_legendre(16)
    half, middle = 0.5 * (MI_CIE_MAX - MI_CIE_MIN), 0.5 * (MI_CIE_MAX + MI_CIE_MIN)
    return sum(0.5 * w * _core.eval_coefficients(coeff, middle + half * x) for x, w in zip(nodes, weights))


def _interpolate(wavelengths, values):
    from bisect import bisect_right

    def f(x):
        if not wavelengths[0] <= x <= wavelengths[-1]:
            return 0.0
        i = min(max(bisect_right(wavelengths, x) - 1, 0), len(wavelengths) - 2)
        t = (x - wavelengths[i]) / (wavelengths[i + 1] - wavelengths[i])
        return values[i] + t * (values[i + 1] - values[i])
    return f


def spectrum_list_to_srgb(wavelengths, values, bounded=True, d65=False):
    """Linear sRGB of a spectrum that is linear between its values, lit by D65 or not; `bounded` clamps to [0, 1]."""
    wavelengths, values = [float(w) for w in wavelengths], [float(v) for v in values]
    if len(wavelengths) != len(values) or len(values) < 2:
        raise ValueError(f"a spectrum needs as many values as wavelengths, two or more, not {len(values)} and "
                         f"{len(wavelengths)}")
    f = _interpolate(wavelengths, values)
    if d65:
        c = _core.reflectance_to_srgb(f)
    else:
        xyz = _core.spectrum_to_xyz(f)
        c = [sum(a * b for a, b in zip(row, xyz)) for row in xyz_to_srgb_rows]
    return resolve("ScalarColor3f")([min(max(e, 0.0), 1.0) for e in c] if bounded else [max(e, 0.0) for e in c])


def spectrum_from_file(filename):
    """(wavelengths, values) of a file: text (.spd) with one of each in a line, or binary (.spb)."""
    from ._logging import file_resolver
    path = str(file_resolver().resolve(filename))
    _core.check_allowed(path)
    if path.endswith(".spb"):
        from ._streams import FileStream
        f = FileStream(path)
        if f.read(3) != b"SPB" or f.read_uint8() != 1:
            raise dr.UserError(f"{filename}: this is no binary spectrum of version 1")
        n = f.read_uint64()
        return [f.read_double() for _ in range(n)], [f.read_double() for _ in range(n)]
    _check_extension(path)
    wavelengths, values = [], []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            try:
                w, v = map(float, words)
            except ValueError:
                raise dr.UserError(f"{filename}:{number}: a line is a wavelength and a value, not "
                                   f"\"{line.strip()}\"") from None
            wavelengths.append(w)
            values.append(v)
    return wavelengths, values


def spectrum_to_file(filename, wavelengths, values):
    """Writes such a file; its extension decides."""
    if str(filename).endswith(".spb"):
        from ._streams import FileStream
        f = FileStream(filename, FileStream.ETruncReadWrite)
        f.write(b"SPB\x01")
        f.write_uint64(len(wavelengths))
        for v in (*wavelengths, *values):
            f.write_double(float(v))
        return f.close()
    _check_extension(str(filename))
    with open(filename, "w") as f:
        f.writelines(f"{float(w)!r} {float(v)!r}\n" for w, v in zip(wavelengths, values))


def _check_extension(path):
    if not path.endswith(".spd"):
        raise dr.UserError(f"{path}: a spectrum's file ends in .spd (text) or .spb (binary)")


def unpolarized_spectrum(s):
    """What an unpolarized observer sees of a spectrum or Mueller matrix."""
    return s[0][0] if dr.is_matrix_v(s) else s


def depolarizer(s=1.0):
    """In polarized variants the Mueller matrix that makes light unpolarized, elsewhere the spectrum itself."""
    if not dr.is_matrix_v(resolve("Spectrum")):
        return s
    from . import mueller
    return mueller.depolarizer(resolve("UnpolarizedSpectrum")(s))


def lookup_ior(properties, name, default):
    """An index of refraction: a number, or the name of a material."""
    value = properties.get(name, default) if hasattr(properties, "get") else default
    return _core.dielectric_ior(value) if isinstance(value, str) else float(value)


__all__ = ["MI_CIE_MIN", "MI_CIE_MAX", "MI_CIE_Y_NORMALIZATION", "srgb_to_xyz", "xyz_to_srgb", "luminance",
           "cie1931_xyz", "cie1931_y", "cie_d65", "linear_rgb_rec", "sample_rgb_spectrum", "pdf_rgb_spectrum",
           "sample_wavelength", "sample_shifted", "spectrum_to_xyz", "spectrum_to_srgb", "srgb_model_fetch", "srgb_model_eval", "srgb_model_mean", "spectrum_list_to_srgb",
           "spectrum_from_file", "spectrum_to_file", "unpolarized_spectrum", "depolarizer", "lookup_ior"]
