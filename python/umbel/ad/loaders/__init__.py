# umbel/ad/loaders: batches of pixels, for optimizations that see too many pictures to render them all at each step.
#
#     loader = umbel.ad.loaders.RayDataLoader(sensors, pictures, pixels_per_batch=4096)
#     target, sensor = loader.next()
#     image = umbel.render(scene, params, sensor=sensor)      # of the same pixels as `target`
from ... import jit as dr
from ..._core import Sensor
from ..._plugins import ParamFlags, register_sensor
from ..._records import Ray3f, RayDifferential3f, _mi


class FlatSensor(Sensor):
    """One row of pixels, each of which is a pixel of one of several cameras: `pixel_idx` says which, counted row by row and camera
    by camera."""

    def __init__(self, props):
        super().__init__(props)
        self.pixel_idx, self.sensors, self.size = _mi("UInt")(0), [], (1, 1)

    def initialize(self, sensors, pixels_per_batch):
        """The cameras, all of one size, and the number of pixels."""
        self.sensors, self.size = list(sensors), tuple(int(n) for n in sensors[0].film().size())
        self.pixel_idx = dr.zeros(_mi("UInt"), pixels_per_batch)

    def sample_ray(self, time, sample1, sample2, sample3, active=True):
        UInt, Float, Point2f = _mi("UInt"), _mi("Float"), _mi("Point2f")
        width, height = self.size
        place = sample2.x * dr.width(self.pixel_idx)  # along the row
        number = dr.minimum(UInt(place), dr.width(self.pixel_idx) - 1)
        pixel = dr.gather(UInt, self.pixel_idx, number, active)
        within = pixel % (width * height)
        position = Point2f((Float(within % width) + place - Float(number)) / width, (Float(within // width) + sample2.y) / height)

        def of(sensor): return lambda *args: sensor.sample_ray(*args)
        ray, weight = dr.switch(pixel // (width * height), [of(s) for s in self.sensors], time, sample1, position, sample3, active)
        return Ray3f(ray), weight

    def sample_ray_differential(self, time, sample1, sample2, sample3, active=True):
        ray, weight = self.sample_ray(time, sample1, sample2, sample3, active)
        return RayDifferential3f(ray), weight  # the pixels beside it are anywhere

    def needs_aperture_sample(self): return any(s.needs_aperture_sample() for s in self.sensors)

    def traverse(self, cb): cb.put("pixel_idx", self.pixel_idx, ParamFlags.NonDifferentiable)

    def to_string(self): return f"FlatSensor[sensors={len(self.sensors)}, size={self.size}]"


class RayDataLoader:
    """Batches of pixels of several pictures, taken by several cameras of one size, and a sensor that sees just those.

    Pixels come in squares of `tile_size`, in random order: each once before any comes again. `regular_reshuffle`: in another order
    each time. `pixel_batch_multiplier` is what a sum over a batch is to be multiplied by to be one over all pixels."""

    def __init__(self, sensors, target_images, pixels_per_batch, seed=0, regular_reshuffle=False, tile_size=4):
        import numpy as np
        sensors = list(sensors) if isinstance(sensors, (list, tuple)) else [sensors]
        images = list(target_images) if isinstance(target_images, (list, tuple)) else [target_images]
        if not sensors or len(sensors) != len(images):
            raise ValueError(f"RayDataLoader: each sensor needs one target image; there are {len(sensors)} and {len(images)}")
        if tile_size < 1:
            raise ValueError(f"RayDataLoader: tile_size is {tile_size}; it must be positive")
        self.num_sensors, self.channel_size = len(sensors), int(images[0].shape[2])
        self.width, self.height = (int(n) for n in sensors[0].film().size())
        for i, (sensor, image) in enumerate(zip(sensors, images)):
            self._check(i, sensor.film(), tuple(image.shape))
        self.total_pixels = self.num_sensors * self.width * self.height
        if not 0 < pixels_per_batch <= self.total_pixels:
            raise ValueError(f"RayDataLoader: pixels_per_batch is {pixels_per_batch}; there are {self.total_pixels} pixels")
        self.pixels_per_batch, self.seed, self.regular_reshuffle = pixels_per_batch, seed, regular_reshuffle
        self.iter_shuffle = -(-self.total_pixels // pixels_per_batch)  # batches until all have come
        self.effective_total_pixels = self.iter_shuffle * pixels_per_batch
        self.pixel_batch_multiplier = self.total_pixels / pixels_per_batch
        self.tile_size = tile_size
        self.tiles_per_row, self.tiles_per_col = -(-self.width // tile_size), -(-self.height // tile_size)
        self.tiles_per_sensor = self.tiles_per_row * self.tiles_per_col
        self._images = np.concatenate([np.array(image).reshape(-1, self.channel_size) for image in images])
        self.counter = 0

        from ... import load_dict
        formats = {1: "luminance", 3: "rgb", 4: "rgba"}
        self.flat_sensor = load_dict({
            "type": "flat_sensor", "sampler": {"type": "independent", "sample_count": 1},
            "film": {"type": "hdrfilm", "width": pixels_per_batch, "height": 1, "pixel_format": formats[self.channel_size],
                     "component_format": "float32", "rfilter": {"type": "box"}}})
        self.flat_sensor.initialize(sensors, pixels_per_batch)
        from ..._params import traverse
        self._params = traverse(self.flat_sensor)

    def _check(self, i, film, shape):
        size = (self.height, self.width, self.channel_size)
        if tuple(int(n) for n in film.size()) != (self.width, self.height) or shape != size:
            raise ValueError(f"RayDataLoader: sensor {i} and its image are of other sizes than the first: {tuple(film.size())} and "
                             f"{shape}, not {(self.width, self.height)} and {size}")
        if tuple(film.crop_size()) != tuple(film.size()) or film.sample_border():
            raise ValueError(f"RayDataLoader: the film of sensor {i} has a crop window or sample_border; neither is supported")
        if self.channel_size not in (1, 3, 4) or film.base_channels_count() != self.channel_size:
            raise ValueError(f"RayDataLoader: the film of sensor {i} has {film.base_channels_count()} channels, its image "
                             f"{self.channel_size}; both must have 1, 3 or 4")

    def _shuffled(self, turn):
        """All pixels, tile by tile in random order, and the first of them again up to a whole number of batches."""
        import numpy as np
        pixel = np.arange(self.total_pixels)
        image, within = np.divmod(pixel, self.width * self.height)
        row, column = np.divmod(within, self.width)
        tile = (image * self.tiles_per_col + row // self.tile_size) * self.tiles_per_row + column // self.tile_size
        rank = np.random.default_rng([self.seed, turn]).permutation(self.num_sensors * self.tiles_per_sensor)
        order = np.lexsort((pixel, rank[tile]))
        return np.resize(order, self.effective_total_pixels)

    def next(self):
        """(what these pixels should be, the sensor that sees them)."""
        turn, batch = divmod(self.counter, self.iter_shuffle)
        if self.counter == 0 or batch == 0 and self.regular_reshuffle:
            self._order = self._shuffled(turn)
        self.counter += 1
        chosen = self._order[batch * self.pixels_per_batch:(batch + 1) * self.pixels_per_batch]
        self._params["pixel_idx"] = _mi("UInt")(chosen)
        self._params.update()
        return _mi("TensorXf")(self._images[chosen][None]), self.flat_sensor


register_sensor("flat_sensor", FlatSensor)
