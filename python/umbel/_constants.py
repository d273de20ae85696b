# umbel/_constants.py: numbers and facts that scripts know by name.
# The version of Mitsuba whose names these are; Umbel's own is umbel.__version__.
MI_VERSION_MAJOR, MI_VERSION_MINOR, MI_VERSION_PATCH = 3, 9, 1
MI_VERSION = f"{MI_VERSION_MAJOR}.{MI_VERSION_MINOR}.{MI_VERSION_PATCH}"
MI_YEAR, MI_AUTHORS = "2026", "The Umbel developers"
MI_ENABLE_CUDA, MI_ENABLE_EMBREE, MI_ENABLE_METAL = False, True, False
MI_FILTER_RESOLUTION = 31
MI_WAVELENGTH_SAMPLES = 4
MI_CIE_D65_NORMALIZATION = 0.010101273599490354
