"""Pearson's chi-square test: do samples follow the density that they claim?

    test = ChiSquareTest(SphericalDomain(), sample_func, pdf_func)
    assert test.run()

A domain maps a rectangle to where the samples live. Histograms are counted over cells of the rectangle and compared with
the density's integrals over the same cells."""
import time

from . import _core
from . import jit as dr
from ._geometry import BoundingBox2f
from ._random import PCG32, sample_tea_32
from ._variant_types import resolve
from .math import chi2, rlgamma


class ChiSquareTest:
    """sample_func maps uniform numbers (`sample_dim` of them) to samples, or to (samples, weights); pdf_func is their
    density in the domain's measure. `res` cells vertically, as many times the domain's aspect horizontally; the density
    is integrated with ires x ires points a cell."""

    def __init__(self, domain, sample_func, pdf_func, sample_dim=2, sample_count=1000000, res=101, ires=4, seed=0):
        if res < 1 or ires < 2 or sample_count < 1:
            raise ValueError(f"ChiSquareTest: res={res}, ires={ires}, sample_count={sample_count}; at least one cell, two "
                             "points a cell and one sample are needed")
        self.domain, self.sample_func, self.pdf_func = domain, sample_func, pdf_func
        self.sample_dim, self.sample_count, self.ires, self.seed = sample_dim, sample_count, ires, seed
        self.bounds = domain.bounds()
        aspect = domain.aspect()
        aspect = float(aspect[0]) if isinstance(aspect, dr.ArrayBase) else aspect
        self.res = (res, 1) if aspect is None else (max(1, round(res * aspect)), res)
        self.pdf = self.histogram = self.p_value = None
        self.messages, self.fail = "", False

    def _log(self, text): self.messages += text + "\n"

    def _reject(self, text):
        self._log("Failure: " + text)
        self.fail = True

    def _rectangle(self):
        low, high = (resolve("Vector2f")(v) for v in (self.bounds.min, self.bounds.max))
        return low, high - low

    def _uniform(self):
        """Independent numbers, a stream for each sample."""
        UInt, double = resolve("UInt32"), dr.itemsize_v(resolve("Float")) == 8
        v0, v1 = sample_tea_32(dr.arange(UInt, self.sample_count), self.seed)
        rng = PCG32(initstate=resolve("UInt64")(v0), initseq=resolve("UInt64")(v1))
        numbers = [rng.next_float64() if double else rng.next_float32() for _ in range(self.sample_dim)]
        return _core.from_entries(resolve(f"{'Vector' if self.sample_dim > 1 else 'Array'}{self.sample_dim}f"), numbers)

    def tabulate_histogram(self):
        """Draws samples and counts them in cells."""
        start = time.perf_counter()
        Float, UInt = resolve("Float"), resolve("UInt32")
        samples, weights = self.sample_func(self._uniform()), Float(1)
        if isinstance(samples, tuple):
            samples, weights = samples
        position = self.domain.map_backward(samples)
        low, extent = self._rectangle()
        p = [(position[i] - low[i]) / extent[i] for i in range(2)]
        outside = dr.select((p[0] < -1e-4) | (p[0] > 1 + 1e-4) | (p[1] < -1e-4) | (p[1] > 1 + 1e-4), Float(weights), 0.0)
        if float(dr.max(dr.abs(outside))[0]) > 0:
            self._reject("there are samples outside of the domain.")
        x, y = (UInt(dr.clip(p[i] * self.res[i], 0, self.res[i] - 1)) for i in range(2))
        self.histogram = dr.zeros(Float, self.res[0] * self.res[1])
        dr.scatter_reduce(dr.ReduceOp.Add, self.histogram, Float(weights), x + y * self.res[0])
        if not float(dr.min(self.histogram)[0]) >= 0:
            self._reject("weights of a cell's samples add up to less than zero.")
        self.histogram_sum = float(dr.sum(self.histogram)[0]) / self.sample_count
        if not self.histogram_sum <= 1.1:
            self._reject(f"the samples' weights add up to {self.histogram_sum:g} instead of 1.")
        self.histogram_time = time.perf_counter() - start

    def tabulate_pdf(self):
        """Integrates the density over each cell, by Gauss-Legendre quadrature."""
        start = time.perf_counter()
        Float, UInt = resolve("Float"), resolve("UInt32")
        nodes, weights = (Float(v) for v in _core.gauss_legendre(self.ires))
        n = self.ires * self.ires
        index = dr.arange(UInt, self.res[0] * self.res[1] * n)
        cell, point = index // n, index % n
        low, extent = self._rectangle()
        p, weight = [], Float(1)
        for axis, (c, q) in enumerate(((cell % self.res[0], point % self.ires), (cell // self.res[0], point // self.ires))):
            step = extent[axis] / self.res[axis]
            p.append(low[axis] + (Float(c) + 0.5 * (dr.gather(Float, nodes, q) + 1)) * step)
            weight = weight * (0.5 * step * dr.gather(Float, weights, q))
        value = self.pdf_func(self.domain.map_forward(resolve("Vector2f")(*p)))
        self.pdf = dr.block_sum(Float(value) * weight * float(self.sample_count), n)
        if not float(dr.min(self.pdf)[0]) >= 0:
            self._reject("the density is negative in a cell, or not a number.")
        self.pdf_sum = float(dr.sum(self.pdf)[0]) / self.sample_count
        if not self.pdf_sum <= 1.1:
            self._reject(f"the density's integral is {self.pdf_sum:g} instead of 1.")
        self.pdf_time = time.perf_counter() - start

    def run(self, significance_level=0.01, test_count=1, quiet=False):
        """Whether the samples may follow the density. Of `test_count` tests that all should pass, all do with probability
        1 - significance_level."""
        import numpy as np
        if self.histogram is None:
            self.tabulate_histogram()
        if self.pdf is None:
            self.tabulate_pdf()
        observed, expected = (a.numpy().astype(np.float64) for a in (self.histogram, self.pdf))
        order = np.argsort(expected, kind="stable")
        value, dof, pooled_in, pooled_out = chi2(observed[order], expected[order], 5)
        if dof < 1:
            self._reject("too few cells have samples.")
        if ((expected == 0) & (observed != 0)).any():
            self._reject("there are samples where the density is zero.")
        if pooled_in:
            self._log(f"Pooled {pooled_in} cells of low expectation into {pooled_out}.")
        self._log(f"Histogram sum = {self.histogram_sum:f} ({1000 * self.histogram_time:.2f} ms), PDF sum = "
                  f"{self.pdf_sum:f} ({1000 * self.pdf_time:.2f} ms)")
        self._log(f"Chi^2 statistic = {value:f} (d.o.f. = {dof})")
        self.p_value = 1 - rlgamma(dof / 2, value / 2) if dof >= 1 else float("nan")
        # Sidak's correction for a series of tests
        level = 1 - (1 - significance_level) ** (1 / test_count)
        result = not self.fail and self.p_value >= level
        self._log(f"{'Accepted' if result else 'Rejected'} the null hypothesis (p-value = {self.p_value:f}, "
                  f"significance level = {level:f})")
        if not quiet:
            print(self.messages)
        return bool(result)


# ---- domains

class LineDomain:
    """An interval."""

    def __init__(self, bounds=(-1.0, 1.0)): self._bounds = BoundingBox2f([bounds[0], -0.5], [bounds[1], 0.5])
    def bounds(self): return self._bounds
    def aspect(self): return None
    def map_forward(self, p): return p.x

    def map_backward(self, p):
        p = p[0] if dr.depth_v(p) > 1 else p
        return resolve("Vector2f")(p, dr.zeros(resolve("Float"), len(p)))


class PlanarDomain:
    """A rectangle."""

    def __init__(self, bounds=None): self._bounds = BoundingBox2f(-1, 1) if bounds is None else bounds
    def bounds(self): return self._bounds

    def aspect(self):
        e = self._bounds.extents()
        return float(e.x) / float(e.y)

    def map_forward(self, p): return p
    def map_backward(self, p): return p


class SphericalDomain:
    """Directions, by azimuth and height; the measure is solid angle."""

    def bounds(self): return BoundingBox2f([-dr.pi, -1], [dr.pi, 1])
    def aspect(self): return 2

    def map_forward(self, p):
        s, c = dr.sincos(p.x)
        sin_theta = dr.safe_sqrt(dr.fma(-p.y, p.y, 1))
        return resolve("Vector3f")(c * sin_theta, s * sin_theta, -p.y)

    def map_backward(self, p): return resolve("Vector2f")(dr.atan2(p.y, p.x), -p.z)


# ---- adapters: (sample_func, pdf_func) of things in scenes

def _load(kind, type, extra, args):
    import umbel
    if isinstance(extra, dict):
        return umbel.load_dict(extra)
    return umbel.load_string(f'<{kind} version="3.0.0" type="{type}">{extra}</{kind}>' % args)


def BSDFAdapter(bsdf_type, extra, wi=(0, 0, 1), uv=(0.5, 0.5), ctx=None):
    """Of a BSDF's sampling for light from wi; `extra` has its parameters as XML, or all of it as a dictionary. Uses three
    random numbers: sample_dim=3."""
    import umbel

    def interaction(n):
        si = dr.zeros(umbel.SurfaceInteraction3f, n)
        si.wi, si.uv = resolve("Vector3f")(wi), resolve("Point2f")(uv)
        return si, umbel.BSDFContext() if ctx is None else ctx

    def sample(numbers, *args):
        bsdf = _load("bsdf", bsdf_type, extra, args)
        si, context = interaction(dr.width(numbers))
        bs, weight = bsdf.sample(context, si, numbers[0], resolve("Point2f")(numbers[1], numbers[2]))
        lost = dr.all(umbel.unpolarized_spectrum(weight) == 0)
        return bs.wo, dr.select(lost, resolve("Float")(0), 1)

    def pdf(wo, *args):
        si, context = interaction(dr.width(wo))
        return _load("bsdf", bsdf_type, extra, args).pdf(context, si, wo)

    return sample, pdf


def EmitterAdapter(emitter_type, extra):
    """Of the directions that an emitter is sampled by, as seen from the origin."""
    import umbel

    def interaction(n): return dr.zeros(umbel.Interaction3f, n)

    def sample(numbers, *args):
        emitter = _load("emitter", emitter_type, extra, args)
        ds, weight = emitter.sample_direction(interaction(dr.width(numbers)), numbers)
        lost = dr.all(umbel.unpolarized_spectrum(weight) == 0)
        return ds.d, dr.select(lost, resolve("Float")(0), 1)

    def pdf(wo, *args):
        emitter = _load("emitter", emitter_type, extra, args)
        ds = dr.zeros(umbel.DirectionSample3f, dr.width(wo))
        ds.d = wo
        return emitter.pdf_direction(interaction(dr.width(wo)), ds)

    return sample, pdf


def MicrofacetAdapter(md_type, alpha, sample_visible=False):
    """Of normals of a microfacet distribution."""
    import umbel

    def make(args):
        wi = resolve("Vector3f")(args[0] if args else [0, 0, 1])
        return umbel.MicrofacetDistribution(md_type, alpha, sample_visible), wi

    def sample(numbers, *args):
        distribution, wi = make(args)
        return distribution.sample(wi, numbers)[0]

    def pdf(m, *args):
        distribution, wi = make(args)
        return distribution.pdf(wi, m)

    return sample, pdf


def SpectrumAdapter(value):
    """Of the wavelengths that a spectrum is sampled by; `value` is a texture, or its XML."""
    import umbel

    def make(args):
        if hasattr(value, "sample_spectrum"):
            return value
        return umbel.load_string(value % args)

    def sample(numbers, *args):
        si = dr.zeros(umbel.SurfaceInteraction3f, dr.width(numbers))
        n = dr.size_v(resolve("UnpolarizedSpectrum"))
        shifted = [numbers[0] + i / n for i in range(n)]
        u = resolve("UnpolarizedSpectrum")(*(dr.select(v > 1, v - 1, v) for v in shifted))
        wavelengths, _ = make(args).sample_spectrum(si, u)
        return resolve("Vector1f")(wavelengths[0])

    def pdf(w, *args):
        si = dr.zeros(umbel.SurfaceInteraction3f, dr.width(w))
        si.wavelengths = resolve("UnpolarizedSpectrum")(w)
        return make(args).pdf_spectrum(si)[0]

    return sample, pdf


def PhaseFunctionAdapter(phase_type, extra, wi=(0, 0, 1), ctx=None):
    """Of a phase function's sampling for light from wi."""
    import umbel

    def interaction(n):
        mei = dr.zeros(umbel.MediumInteraction3f, n)
        mei.wi = resolve("Vector3f")(wi)
        mei.sh_frame = umbel.Frame3f(mei.wi)
        return mei, umbel.PhaseFunctionContext() if ctx is None else ctx

    def sample(numbers, *args):
        phase = _load("phase", phase_type, extra, args)
        mei, context = interaction(dr.width(numbers))
        wo, weight, _ = phase.sample(context, mei, numbers[0], resolve("Point2f")(numbers[1], numbers[2]))
        return wo, dr.select(dr.all(weight == 0), resolve("Float")(0), 1)

    def pdf(wo, *args):
        mei, context = interaction(dr.width(wo))
        return _load("phase", phase_type, extra, args).eval_pdf(context, mei, wo)[1]

    return sample, pdf
