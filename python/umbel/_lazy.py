# umbel/_lazy.py: names whose modules are imported when someone asks for them, so that `import umbel` stays quick.
import importlib
import sys

_modules = {
    "_distributions_nd": [*(f"{k}2D{n}" for k in ("MarginalContinuous", "MarginalDiscrete", "Hierarchical") for n in range(4)),
                          *(f"Conditional{k}1D{s}" for k in ("Regular", "Irregular") for s in ("", "Spectrum"))],
    "_phase": ["PhaseFunctionFlags", "PhaseFunctionContext", "SGGXPhaseFunctionParams", "sggx_projected_area", "sggx_pdf",
               "sggx_sample"],
    "_resampler": ["Resampler"],
    "_streams": ["Stream", "MemoryStream", "DummyStream", "FileStream", "ZStream", "MemoryMappedFile", "TensorFile"],
    "_struct": ["StructConverter"],
    "_system": ["ArgParser", "Spiral", "Version"],
    "_volume_grid": ["VolumeGrid"]}
_places = {name: module for module, all_names in _modules.items() for name in all_names}
_places.update({name: None for name in ("filesystem", "misc", "parser", "tensor_io", "testing", "xml")})  # modules themselves


def names(): return list(_places)


def find(name):
    """The value of a name, which the package has from now on; None where there is no such name."""
    if name not in _places:
        return None
    module = importlib.import_module(f"umbel.{_places[name] or name}")
    value = getattr(module, name) if _places[name] else module
    setattr(sys.modules["umbel"], name, value)
    return value
