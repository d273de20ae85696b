"""Where samples of the unit cube are worth while: distributions that learn from what samples have given.

Integrals over boundaries are such: most of the cube gives nothing. All have sample(sampler): points, and one over their density.
"""
import sys

from .. import jit as dr
from .._core import DiscreteDistribution


def _mi(name): return getattr(sys.modules["umbel"], name)


def _clamped(mass, threshold, scale):
    """Masses below a part of their sum are none; the others are raised to the power of 1 - scale."""
    mass = dr.select(mass < threshold * dr.sum(mass), 0, mass)
    return dr.select(mass > 0, dr.power(mass, 1 - scale), 0) if scale else mass


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
        mass = _clamped(mass, self.clamp_mass_thres, self.scale_mass)
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


class OcSpaceDistr(BaseGuidingDistr):
    """An octree whose cells are small where points were that gave something; the mass of each is then estimated anew.

    max_depth, max_leaf_count: cells of more points than this are split, so often at most. extra_spc: samples by which the mass of a
    cell is estimated. eval_indirect_integrand_handle(points, sampler) returns the integrand, and two more things that do not matter.
    clamp_input_mass_thres: points of less than so many times the mean mass do not count. clamp_mass_thres, scale_mass: as those of
    GridDistr. prepartition_x_slices: the cube is cut into so many slices before. scatter_inc: accepted; the order of points never
    matters here."""

    def __init__(self, max_depth, max_leaf_count, extra_spc, eval_indirect_integrand_handle, clamp_input_mass_thres, clamp_mass_thres,
                 prepartition_x_slices, scatter_inc=False, scale_mass=0.0, debug_logs=False):
        self.max_depth, self.max_leaf_count, self.extra_spc = max_depth, max_leaf_count, extra_spc
        self.eval_indirect_integrand_handle = eval_indirect_integrand_handle
        self.clamp_input_mass_thres, self.clamp_mass_thres = clamp_input_mass_thres, clamp_mass_thres
        self.prepartition_x_slices, self.scale_mass = max(int(prepartition_x_slices), 1), float(scale_mass)
        self.debug_logs, self.pmf = debug_logs, None

    def construct_octree(self, points, log=False):
        """The corners of all cells, those without points among them, for a table of three rows of coordinates."""
        import numpy as np
        p, slices = np.asarray(points, np.float32).reshape(3, -1).T, self.prepartition_x_slices
        low, size = np.zeros((slices, 3), np.float32), np.ones((slices, 3), np.float32)
        low[:, 0], size[:, 0] = np.arange(slices) / slices, 1 / slices
        where, cells = np.clip((p[:, 0] * slices).astype(int), 0, slices - 1), []
        for _ in range(self.max_depth):
            split = np.bincount(where, minlength=len(low)) > self.max_leaf_count
            cells.append((low[~split], size[~split]))
            inside, number = split[where], np.cumsum(split) - 1
            p, where = p[inside], number[where[inside]]
            low, size = low[split], size[split] / 2
            octant = (p >= low[where] + size[where]) @ [4, 2, 1]
            corners = np.array([[i >> 2, i >> 1 & 1, i & 1] for i in range(8)], np.float32)
            low, size = (low[:, None] + corners * size[:, None]).reshape(-1, 3), np.repeat(size, 8, axis=0)
            where = 8 * where + octant
        low, size = (np.concatenate(a) for a in zip(*cells, (low, size)))
        if log or self.debug_logs:
            from .. import Log, LogLevel
            Log(LogLevel.Debug, f"OcSpaceDistr: {len(low)} cells")
        return _mi("Point3f")(low.T), _mi("Point3f")((low + size).T)

    def estimate_mass_in_leaves(self, aabb_min, aabb_max, seed, log=False):
        """The integral of the integrand's magnitude over each cell."""
        cells, UInt = dr.width(aabb_min), _mi("UInt32")
        sampler = _mi("load_dict")({"type": "independent"})
        sampler.seed(seed, cells * self.extra_spc)
        cell = dr.arange(UInt, cells * self.extra_spc) // self.extra_spc
        value, *_ = self.eval_indirect_integrand_handle(self._within(aabb_min, aabb_max, cell, sampler)[0], sampler)
        mean = dr.block_sum(dr.abs(dr.detach(value)), self.extra_spc) / self.extra_spc
        return mean * dr.prod(aabb_max - aabb_min)

    def set_points(self, points, mass, seed=0, log=False):
        """Builds the tree of points, each with the magnitude of what it gave."""
        mass, points = _mi("Float")(mass), _mi("Point3f")(points)
        chosen = dr.compress((mass > 0) & (mass >= self.clamp_input_mass_thres * dr.mean(mass)))
        self.aabb_min, self.aabb_max = self.construct_octree(dr.gather(_mi("Point3f"), points, chosen).numpy(), log)
        mass = self.estimate_mass_in_leaves(self.aabb_min, self.aabb_max, seed, log)
        self.pmf = DiscreteDistribution(_clamped(mass, self.clamp_mass_thres, self.scale_mass))

    @staticmethod
    def _within(low, high, cell, sampler):
        """Points of cells, at places drawn from each, and the volume of the cells."""
        Point3f = _mi("Point3f")
        a, b = dr.gather(Point3f, low, cell), dr.gather(Point3f, high, cell)
        return dr.lerp(a, b, Point3f(sampler.next_1d(), *sampler.next_2d())), dr.prod(b - a)

    def sample(self, sampler):
        if self.pmf is None:
            raise dr.UserError("OcSpaceDistr.sample(): set_points() was not called")
        cell, pmf = self.pmf.sample_pmf(sampler.next_1d())
        point, volume = self._within(self.aabb_min, self.aabb_max, cell, sampler)
        return point, volume / pmf

    def __repr__(self):
        cells = 0 if self.pmf is None else dr.width(self.aabb_min)
        return f"OcSpaceDistr[\n  max_depth = {self.max_depth},\n  max_leaf_count = {self.max_leaf_count},\n  cells = {cells}\n]"
