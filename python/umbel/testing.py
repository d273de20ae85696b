"""Comparing renders with references, for tests."""
import os
import sys

from . import jit as dr
from ._bitmap import Bitmap
from ._variant_types import resolve


class RenderingRegressionTest:
    """Compares a render with a reference by a z-test in each pixel. The scene's integrator is `moment`: its images have the mean
    and the mean square. References lie in `references_folder`, that of the calling file unless given; `generate_ref` makes
    them."""

    def __init__(self, name, scene, sensor=0, test_spp=512, ref_spp=8192, significance_level=0.01, pixel_success_rate=0.975,
                 references_folder=None, generate_ref=False):
        if references_folder is None:
            caller = sys._getframe(1).f_code.co_filename
            references_folder = os.path.join(os.path.dirname(os.path.abspath(caller)), "references")
        self.name, self.scene, self.sensor, self.test_spp, self.ref_spp = name, scene, sensor, test_spp, ref_spp
        self.significance_level, self.pixel_success_rate = significance_level, pixel_success_rate
        self.references_folder = references_folder
        if generate_ref:
            self.render_reference()

    def _file(self, suffix): return os.path.join(self.references_folder, f"{self.name}_{suffix}.exr")

    def _render(self, spp, seed):
        """The image's mean, and that of its square."""
        from . import render
        names = self.scene.integrator().aov_names()
        if "m2.R" not in names:
            raise dr.UserError("RenderingRegressionTest: the scene's integrator must be `moment`, around the one to be tested, "
                               "in a variant with colours")
        image = render(self.scene, sensor=self.sensor, spp=spp, seed=seed)
        square = image.shape[2] - len(names) + names.index("m2.R")
        return image[:, :, 0:3], image[:, :, square:square + 3]

    def render_reference(self):
        """Renders and writes the reference."""
        os.makedirs(self.references_folder, exist_ok=True)
        mean, square = self._render(self.ref_spp, seed=1)
        Bitmap(mean).write(self._file("img"))
        Bitmap(square - mean * mean).write(self._file("var"))

    def run(self):
        """Whether enough pixels agree."""
        import numpy as np
        from math import erf
        if not os.path.exists(self._file("img")) or not os.path.exists(self._file("var")):
            raise FileNotFoundError(f"{self._file('img')}: there is no reference; make one with generate_ref=True")
        T = resolve("TensorXf")
        reference, variance = T(Bitmap(self._file("img"))).numpy(), T(Bitmap(self._file("var"))).numpy()
        image = self._render(self.test_spp, seed=0)[0].numpy()
        z = np.abs(image - reference) * np.sqrt(self.test_spp / np.maximum(variance, 1e-4))
        p = 1 - np.vectorize(erf)(z / np.sqrt(2))
        # Sidak's correction for as many tests as there are pixels
        pixels = reference.shape[0] * reference.shape[1]
        level = 1 - (1 - self.significance_level) ** (1 / pixels)
        return float((p > level).sum()) / 3 >= self.pixel_success_rate * pixels

    def __repr__(self): return self.name
