# umbel/_textures.py: what textures offer to scripts beyond what rendering needs of them.
from . import _core
from ._records import _mi

Texture = _core.Texture
_sample_spectrum = Texture.sample_spectrum


def sample_spectrum(self, si, sample, active=True):
    """Wavelengths, and the spectrum there over their density; outside of spectral variants none, and the colour there."""
    if not _mi("is_spectral"):
        return [], self.eval(si, active)
    return _sample_spectrum(self, si, sample, active)


Texture.sample_spectrum = sample_spectrum
