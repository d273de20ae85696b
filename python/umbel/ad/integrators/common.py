"""Bases of integrators written in Python.

An ADIntegrator is differentiated by recording all that `sample` does. An RBIntegrator differentiates itself: `sample` is
called twice, first for the radiance, then with its gradient, for the same paths.
"""
import umbel as mi
import umbel.jit as dr

__all__ = ["ADIntegrator", "RBIntegrator", "mis_weight", "render_blocks", "solid_angle_to_area_jacobian"]


def mis_weight(pdf_a, pdf_b):
    """The weight of a sample of density `pdf_a` among two techniques, by the power heuristic."""
    return dr.detach(mi._core.mis_weight(pdf_a, pdf_b))


def solid_angle_to_area_jacobian(o, p, n, active=True):
    """The solid angle, seen from `o`, of a unit of area at `p` with the normal `n`; 1 in lanes that are not active."""
    way = p - o
    return dr.select(active, dr.abs_dot(n, dr.normalize(way)) / dr.squared_norm(way), 1)


# ---- from sensors to films

def _sensor(scene, sensor):
    return scene.sensors()[sensor] if isinstance(sensor, int) else sensor


def _window(film):
    """Width and height of what is sampled, and how far it reaches beyond the image."""
    border = film.rfilter().border_size() if film.sample_border() else 0
    width, height = (int(n) + 2 * border for n in film.crop_size())
    return width, height, border


def prepare(sensor, seed=0, spp=0, aovs=()):
    """A sampler with one sequence for each sample of the image, and the number of samples a pixel."""
    film, sampler = sensor.film(), sensor.sampler().clone()
    if spp:
        sampler.set_sample_count(spp)
    spp = sampler.sample_count()
    sampler.set_samples_per_wavefront(spp)
    width, height, _ = _window(film)
    lanes = width * height * spp
    if lanes > 2 ** 32:
        raise dr.UserError(f"an image of {width} x {height} pixels and {spp} samples each takes {lanes} samples; at most "
                           "2^32 fit in one pass: use fewer, or average several images of other seeds")
    sampler.seed(seed, lanes)
    film.prepare(list(aovs))
    return sampler, spp


def sample_rays(scene, sensor, sampler):
    """A ray for each sample, its weight, and where in the image it belongs, in pixels."""
    film = sensor.film()
    width, height, border = _window(film)
    spp = sampler.sample_count()
    lane = dr.arange(mi.UInt32, width * height * spp)
    pixel = lane // dr.opaque(mi.UInt32, spp)
    row = pixel // width
    offset = [int(n) - border for n in film.crop_offset()]
    x, y = mi.Int32(pixel - row * width) + offset[0], mi.Int32(row) + offset[1]
    place, *drawn = sensor._draw(sampler, mi.UInt32(x), mi.UInt32(y))
    with dr.resume_grad():
        ray, weight = sensor.sample_ray_differential(*drawn)
    if film.rfilter().is_box_filter():  # the pixel itself, whatever rounding makes of the sum
        place = mi.Point2f(0)
    pos = mi.Point2f(mi.Float(x) + 0.5 + place.x, mi.Float(y) + 0.5 + place.y)
    return ray, weight, pos


def _channels(film, block, value, weight, alpha, aovs, wavelengths):
    """The channels of a block for a colour."""
    if film.flags() & mi.FilmFlags.Special:
        channels = film.prepare_sample(value, wavelengths, block.channel_count(), weight=weight, alpha=alpha)
        return channels if film._is_python() else [*channels[:len(channels) - len(aovs)], *aovs]
    return film._block_channels(value, wavelengths, alpha, [weight, *aovs])


def _splat(film, pos, value, weight, alpha, aovs, wavelengths):
    """A block with these samples in it."""
    block = film.create_block()
    block.put(pos, _channels(film, block, value, weight, alpha, aovs, wavelengths))
    return block


def _alpha(valid): return dr.select(valid, mi.Float(1), mi.Float(0))


def render_blocks(integrator, scene, sensor=0, seed=0, spp=0):
    """An image by any integrator's `sample(scene, sampler, ray, medium, active)`, collected by the film itself."""
    sensor = _sensor(scene, sensor)
    film = sensor.film()
    sampler, spp = prepare(sensor, seed, spp, integrator.aov_names())
    ray, weight, pos = sample_rays(scene, sensor, sampler)
    if getattr(integrator, "_takes_mode", False):
        L, valid, aovs, _ = integrator.sample(mode=dr.ADMode.Primal, scene=scene, sampler=sampler, ray=ray,
                                              depth=mi.UInt32(0), active=mi.Bool(True))
    else:
        L, valid, aovs = integrator.sample(scene, sampler, ray, None, mi.Bool(True))
    block = _splat(film, pos, L * weight, mi.Float(1), _alpha(valid), aovs, ray.wavelengths)
    film.put_block(block)
    return film.develop()


class ADIntegrator(mi.SamplingIntegrator):
    """An integrator whose `sample` is recorded and differentiated as it is.

    sample(mode, scene, sampler, ray, depth, δL, δaovs, state_in, active) returns radiance, whether the ray met anything, a list
    of further channels, and a state for the second call of an RBIntegrator. `max_depth` (-1: no limit) and `rr_depth` are
    read from the properties. Images and their derivatives are computed by the same driver as those of any other integrator.
    """
    _takes_mode = True

    def __init__(self, props=mi.Properties()):
        super().__init__(props)
        depth = props.get("max_depth", 6)
        if depth < 0 and depth != -1:
            raise dr.UserError(f"max_depth is {depth}; it must be -1, for no limit, or at least 0")
        self.max_depth = depth if depth != -1 else 0xffffffff
        self.rr_depth, self.hide_emitters = props.get("rr_depth", 5), props.get("hide_emitters", False)
        if self.rr_depth <= 0:
            raise dr.UserError(f"rr_depth is {self.rr_depth}; it must be at least 1")

    def to_string(self):
        return f"{type(self).__name__}[max_depth = {self.max_depth}, rr_depth = {self.rr_depth}]"

    def sample(self, mode, scene, sampler, ray, depth=None, δL=None, δaovs=None, state_in=None, active=True):
        """What subclasses define."""
        raise NotImplementedError(f"{type(self).__name__} does not define sample()")

    def aov_names(self): return []

    def prepare(self, sensor, seed=0, spp=0, aovs=()):
        """A seeded sampler, and the number of samples a pixel."""
        return prepare(sensor, seed, spp, aovs)

    def sample_rays(self, scene, sensor, sampler):
        """Rays, their weights, and where in the image they belong."""
        return sample_rays(scene, sensor, sampler)


class RBIntegrator(ADIntegrator):
    """An integrator that differentiates itself, by following the same paths again.

    In the first call, mode is Primal. In the second, with the same random numbers and `state_in` from the first, `sample`
    returns the radiance's tangent (Forward), or adds to the gradients of what it meets, given that of the radiance, `δL`
    (Backward). It calls dr.forward_to() or dr.backward() on what each bounce contributes.
    """
    _replays = True
