// render/film.cpp: sizes, crop windows and channels.
#include "render/film.h"
#include "ad/ad.h"
#include "core/colour.h"
#include "core/host_array.h"
#include "core/image_io.h"
#include "core/spectra.h"
#include "core/traverse.h"
#include "render/spectral_samples.h"
#include "render/texture.h"
#include <algorithm>

namespace umbel {

void Film::declare(Params &p) { declare_film(p, 768, 576, "gaussian"); }

void Film::declare_film(Params &p, int width, int height, const char *filter) {
    p.integer("width", m_width, width, 1, MostSide).doc("Width of the image in pixels");
    p.integer("height", m_height, height, 1, MostSide).doc("Height of the image in pixels");
    Crop c;
    p.integer("crop_offset_x", c.x, 0, 0).doc("Left edge of the part that is rendered");
    p.integer("crop_offset_y", c.y, 0, 0).doc("Top edge of the part that is rendered");
    p.integer("crop_width", c.width, 0, 0).doc("Width of the part that is rendered; 0: all of it");
    p.integer("crop_height", c.height, 0, 0)
        .doc("Height of the part that is rendered; 0: all of it");
    p.object("rfilter", m_filter).doc(fmt::format("Reconstruction filter; {} if absent", filter));
    if (p.traversing()) {
        p.exposed("size", std::array{ &m_width, &m_height });
        p.exposed("crop_size", std::array{ &m_crop.width, &m_crop.height });
        p.exposed("crop_offset", std::array{ &m_crop.x, &m_crop.y });
    }
    if (!p.loading())
        return;
    if (!m_filter)
        m_filter = p.loader()->load_as<Filter>(std::make_shared<Properties>("rfilter", filter));
    if (!c.width)
        c.width = m_width;
    if (!c.height)
        c.height = m_height;
    set_crop(c);
}

void Film::changed(std::span<const std::string> names) {
    check_size(m_width, m_height);
    // Another size alone is of the whole image
    bool is_resized = names.size() == 1 && names[0] == "size";
    if (is_resized)
        set_size(m_width, m_height);
    else
        set_crop(m_crop);
}

void Film::check_size(int width, int height) const {
    if (width < 1 || height < 1 || width > MostSide || height > MostSide)
        complain("an image cannot have {} x {} pixels; each side has from 1 to {}", width, height,
                 MostSide);
}

void Film::set_size(int width, int height) {
    check_size(width, height);
    m_width = width;
    m_height = height;
    m_crop = { 0, 0, width, height };
    note_change(*this);
}

void Film::check_part(const Crop &c) const {
    // Without sums, which could be too large for their type
    bool is_inside = c.width >= 1 && c.height >= 1 && c.x >= 0 && c.y >= 0 && c.x < m_width &&
                     c.y < m_height && c.width <= m_width - c.x && c.height <= m_height - c.y;
    if (!is_inside)
        fail("{}: the crop window of {} x {} pixels at ({}, {}) does not lie in the image of {} x "
             "{}; its offset and its size must add up to no more than that",
             where(), c.width, c.height, c.x, c.y, m_width, m_height);
}

void Film::set_crop(const Crop &c) {
    check_part(c);
    m_crop = c;
    note_change(*this);
}

const FilterAxis &Film::axis(int number, int size) const {
    KnownAxis &known = m_axes[number];
    bool ends = !sample_border();
    if (known.size != size || known.revision != m_filter->revision() || known.ends != ends)
        known = { FilterAxis(*m_filter, size, ends), size, m_filter->revision(), ends };
    return known.axis;
}

// Whether scripts follow what a film responds to: then wavelengths are drawn evenly, as for a sensor's response.
static bool is_followed(const Film &film) {
    Spectrum anywhere(std::vector<Float>(4, opaque_float(550))); // no constant, lest zeros fold
    std::vector<Float> values = film.channels({ Spectrum(1), anywhere, Float(0), {} });
    return std::any_of(values.begin(), values.end(), ad::grad_enabled);
}

std::pair<Wavelengths, Spectrum> Film::sample_wavelengths(const Float &u,
                                                          const Mask &active) const {
    Ref<Texture> sensitivity = response();
    if (!sensitivity)
        return umbel::sample_wavelengths(u);
    Spectrum numbers = wavelength_strata(u);
    Wavelengths w;
    if (is_followed(*this)) {
        auto [low, high] = sensitivity->wavelength_range();
        w = map(numbers, [&](const Float &x) { return fma(x, high - low, low); });
    } else
        w = sensitivity->sample_spectrum(interaction_anywhere({}), numbers, active).first;
    return { w, wavelength_weight(w, active) };
}

Spectrum Film::wavelength_weight(const Wavelengths &w, const Mask &active) const {
    Ref<Texture> sensitivity = response();
    if (sensitivity && is_followed(*this)) {
        auto [low, high] = sensitivity->wavelength_range();
        return Spectrum(high - low);
    }
    Spectrum pdf = sensitivity ? sensitivity->pdf_spectrum(interaction_anywhere(w), active)
                               : map(w, [](const Float &x) { return sample_wavelength_pdf(x); });
    return map(pdf, [](const Float &p) { return select(p > 0, rcp(p), Float(0)); });
}

std::vector<std::string> Film::channel_names(const std::vector<std::string> &further) const {
    std::vector<std::string> names = { "R", "G", "B" };
    if (variant().colour == Colour::Mono)
        names = { "Y" };
    if (has_alpha())
        names.push_back("A");
    names.insert(names.end(), further.begin(), further.end());
    return names;
}

std::vector<Float> Film::channels(const FilmSample &sample) const {
    std::vector<Float> out = to_rgb(unpolarized(sample.L), sample.wavelengths);
    if (has_alpha())
        out.push_back(sample.alpha);
    out.insert(out.end(), sample.further.begin(), sample.further.end());
    return out;
}

Float Film::brightness(const std::vector<Float> &channels) const {
    if (variant().colour == Colour::Mono)
        return channels[0];
    return channels[0] * luminance({ 1, 0, 0 }) + channels[1] * luminance({ 0, 1, 0 }) +
           channels[2] * luminance({ 0, 0, 1 });
}

Float Film::develop(const Float &means, uint32_t channel_count) const {
    uint32_t pixels = means.size() / channel_count;
    UInt32 pixel(jit::lane_index(pixels)), first = pixel * UInt32(channel_count);
    std::vector<Float> in;
    for (uint32_t c = 0; c < channel_count; ++c)
        in.emplace_back(jit::gather(means, first + UInt32(c), Mask(true)));
    std::vector<Float> out = develop_pixel(in);
    bool same = out.size() == in.size();
    for (size_t c = 0; same && c < in.size(); ++c)
        same = out[c].id() == in[c].id();
    if (same)
        return means;
    uint32_t count = uint32_t(out.size());
    Value image = jit::full(variant().float_type(), 0, pixels * count);
    for (uint32_t c = 0; c < count; ++c)
        jit::scatter(image, out[c], pixel * UInt32(count) + UInt32(c), Mask(true));
    return Float(image);
}

std::filesystem::path Film::with_extension(const std::filesystem::path &path,
                                           const char *extension) {
    if (!names_image_format(extension_of(path)))
        return path.string() + extension;
    check_extension(path);
    return path;
}

} // namespace umbel
