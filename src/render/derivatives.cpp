// render/derivatives.cpp: images as data of a program, and derivatives of them.
#include "ad/ad.h"
#include "render/driver.h"

namespace umbel {

std::array<size_t, 3> Render::tensor_shape() const {
    const Film::Crop &crop = m_sensor.film().crop();
    return { size_t(crop.height), size_t(crop.width), channel_names().size() };
}

std::pair<UInt32, Mask> Render::pixels_of(const Band &band, const UInt32 &index) const {
    const Film::Crop &crop = m_sensor.film().crop();
    auto data = [](uint32_t v) { return jit::opaque(v); };
    constexpr uint32_t PerTile = TileSize * TileSize;
    UInt32 slot = index + data(band.first), tile = slot / UInt32(PerTile),
           in_tile = slot % UInt32(PerTile);
    UInt32 tiles_x = data(m_tiles_x), tile_y = tile / tiles_x, tile_x = tile - tile_y * tiles_x;
    UInt32 x = tile_x * UInt32(TileSize) + in_tile % UInt32(TileSize);
    UInt32 y = tile_y * UInt32(TileSize) + in_tile / UInt32(TileSize);
    UInt32 width = data(uint32_t(crop.width));
    return { y * width + x, (x < width) & (y < data(uint32_t(crop.height))) };
}

Float Render::tensor() const {
    VariantScope scope(m_scene.scene_variant());
    auto [height, width, channels] = tensor_shape();
    Value out = jit::full(variant().float_type(), 0, uint32_t(height * width * channels));
    for (const Band &b : m_bands) {
        auto [pixel, inside] = pixels_of(b, UInt32(jit::lane_index(b.count)));
        Float scale =
            opaque_float(1.0 / std::max(1, std::min(b.groups_done * m_group_size, m_spp)));
        if (splats())
            scale = rcp(select(b.film.back() != 0, b.film.back(), Float(1)));
        UInt32 first = pixel * UInt32(uint32_t(channels));
        for (uint32_t c = 0; c < channels; ++c)
            jit::scatter(out, b.film[c] * scale, first + UInt32(c), inside);
        jit::eval(out);
    }
    return Float(out);
}

// What a lane adds to the image is linear in its radiance: the film's own arithmetic, differentiated, gives the radiance's
// gradient.
void Render::backward(const Float &gradient) {
    VariantScope scope(m_scene.scene_variant());
    auto [height, width, channels] = tensor_shape();
    if (gradient.size() != height * width * channels)
        fail("the gradient of an image of {} x {} pixels and {} channels has {} numbers", width,
             height, channels, gradient.size());
    refuse_splats();
    ad::IsolateGrad isolate;
    for (; !done(); advance()) {
        Samples s = start(m_bands[m_band]);
        Radiance primal;
        {
            ad::SuspendGrad none;
            SampleStream copy = s.sampler;
            primal = integrator().sample(m_scene, copy, s.ray, s.traced);
        }
        Spectrum L = map(primal.L, [](const Float &v) { return Float(v.detached()); });
        for (Float &v : L.c)
            ad::enable_grad(v);
        std::vector<Float> pixel = film_channels({ s.ray_weight * L, primal.valid, {} }, s.ray);
        Float scale = s.weight * opaque_float(1.0 / m_spp);
        UInt32 first = s.pixel * UInt32(uint32_t(channels));
        for (uint32_t c = 0; c < pixel.size(); ++c) {
            if (!ad::grad_enabled(pixel[c]))
                continue;
            Float g(jit::gather(gradient, first + UInt32(c), s.traced));
            ad::accumulate_grad(pixel[c], g * scale);
            ad::enqueue(ad::Mode::Backward, pixel[c]);
        }
        ad::traverse(ad::Mode::Backward);
        Spectrum dL = map(L, [](const Float &v) { return Float(ad::grad(v)); });
        integrator().differentiate(ad::Mode::Backward, m_scene, s.sampler, s.ray, primal, dL,
                                   s.traced);
        jit::eval();
    }
}

void Render::refuse_splats() const {
    if (splats())
        fail("{}: images are differentiated with samples drawn from the filter; set `splat` to "
             "false",
             m_sensor.film().where());
}

Float Render::forward() {
    VariantScope scope(m_scene.scene_variant());
    refuse_splats();
    ad::IsolateGrad isolate;
    for (; !done(); advance()) {
        Samples s = start(m_bands[m_band]);
        Radiance primal;
        {
            ad::SuspendGrad none;
            SampleStream copy = s.sampler;
            primal = integrator().sample(m_scene, copy, s.ray, s.traced);
        }
        Radiance tangent;
        tangent.L = integrator().differentiate(ad::Mode::Forward, m_scene, s.sampler, s.ray, primal,
                                               Spectrum(1), s.traced);
        tangent.valid = false;
        tangent.aovs.assign(integrator().aov_names().size(), Float(0));
        add_to_film(m_bands[m_band], tangent, s);
    }
    return tensor();
}

} // namespace umbel
