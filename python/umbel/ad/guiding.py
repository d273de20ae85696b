"""Where samples of the unit cube are worth while: distributions that learn from what samples have given.

Integrals over boundaries are such: most of the cube gives nothing. All have sample(sampler): points, and one over their density.
"""
import sys

from .. import jit as dr
from .._core import DiscreteDistribution


def _mi(name): return getattr(sys.modules["umbel"], name)


class BaseGuidingDistr:
    """A distribution of points in the unit cube."""

    def sample(self, sampler):
        """Points, and one over their density."""
        raise NotImplementedError


class UniformDistr(BaseGuidingDistr):
    """All points alike."""

    def sample(self, sampler):
        return _mi("Point3f")(sampler.next_1d(), *sampler.next_2d()), _mi("Float")(1)


class GridDistr(BaseGuidingDistr):
    """A grid of cells, each with a mass, raised to the power of 1 - `scale_mass`. Cells with less than the part
    `clamp_mass_thres` of all mass count as empty."""

    def __init__(self, resolution, clamp_mass_thres, scale_mass=0.0, debug_logs=False):
        self.resolution = _mi("ScalarPoint3u")(resolution)
        self.num_cells = int(dr.prod(self.resolution))
        self.clamp_mass_thres, self.scale_mass, self.debug_logs = clamp_mass_thres, float(scale_mass), debug_logs
        self.pmf = None

    def get_cell_array(self, index_array_):
        """The cells of these numbers: the first one is (0, 0, 0), then follows (0, 0, 1)."""
        index, (_, ny, nz) = _mi("UInt32")(index_array_), (int(n) for n in self.resolution)
        return _mi("Point3u")(index // (ny * nz), index // nz % ny, index % nz)

    def set_mass(self, mass):
        """The mass of each cell, by number."""
        mass = _mi("Float")(mass)
        if dr.width(mass) != self.num_cells:
            raise dr.UserError(f"GridDistr.set_mass(): {dr.width(mass)} numbers for {self.num_cells} cells")
        mass = dr.select(mass < self.clamp_mass_thres * dr.sum(mass), 0, mass)
        if self.scale_mass:
            mass = dr.select(mass > 0, dr.power(mass, 1 - self.scale_mass), 0)
        self.pmf = DiscreteDistribution(mass)
        if self.debug_logs:
            from .. import Log, LogLevel
            Log(LogLevel.Debug, f"GridDistr: {int(dr.count(mass > 0)[0])} of {self.num_cells} cells have mass")

    def _within(self, cell, sampler):
        """Points of cells, at places drawn from each."""
        place = _mi("Point3f")(sampler.next_1d(), *sampler.next_2d())
        return (_mi("Point3f")(cell) + place) / _mi("Point3f")(self.resolution)

    def sample(self, sampler):
        if self.pmf is None:
            raise dr.UserError("GridDistr.sample(): set_mass() was not called")
        index, pmf = self.pmf.sample_pmf(sampler.next_1d())
        return self._within(self.get_cell_array(index), sampler), dr.rcp(pmf * self.num_cells)

    def random_cell_sample(self, sampler):
        """A point of each cell, or of the first ones, as many as the sampler has lanes."""
        return self._within(self.get_cell_array(dr.arange(_mi("UInt32"), sampler.wavefront_size())), sampler)

    def sample_to_cell_idx(self, sample, active=True):
        """The numbers of the cells that points lie in."""
        n = [int(v) for v in self.resolution]
        x, y, z = (dr.minimum(_mi("UInt32")(p * k), k - 1) for p, k in zip(_mi("Point3f")(sample), n))
        return dr.select(active, (x * n[1] + y) * n[2] + z, 0)

    def __repr__(self): return f"GridDistr[\n  resolution = {self.resolution},\n  num_cells = {self.num_cells}\n]"
