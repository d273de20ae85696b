// core/image.cpp: storage of images, and conversion between component types.
#include "core/image.h"
#include "core/colour.h"
#include "jit/value.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace umbel {

namespace {

struct ComponentInfo {
    const char *name;
    size_t bytes;
    jit::Type type;
};
constexpr ComponentInfo Info[] = {
    { "u8", 1, jit::Type::U8 },   { "u16", 2, jit::Type::U16 }, { "u32", 4, jit::Type::U32 },
    { "f16", 2, jit::Type::F16 }, { "f32", 4, jit::Type::F32 }, { "f64", 8, jit::Type::F64 },
};

double load(Component c, const uint8_t *p, size_t i) {
    switch (c) {
    case Component::U8: return p[i] / 255.0;
    case Component::U16: return reinterpret_cast<const uint16_t *>(p)[i] / 65535.0;
    case Component::U32: return reinterpret_cast<const uint32_t *>(p)[i];
    case Component::F16: return jit::half_to_float(reinterpret_cast<const uint16_t *>(p)[i]);
    case Component::F32: return reinterpret_cast<const float *>(p)[i];
    case Component::F64: return reinterpret_cast<const double *>(p)[i];
    }
    return 0;
}

/// Nearest integer in [0, top]; the comparison is false for NaN, which becomes 0.
double quantize(double v, double top) { return v > 0 ? std::floor(std::min(v, top) + 0.5) : 0; }

void store(Component c, uint8_t *p, size_t i, double v) {
    switch (c) {
    case Component::U8: p[i] = uint8_t(quantize(v * 255, 255)); break;
    case Component::U16:
        reinterpret_cast<uint16_t *>(p)[i] = uint16_t(quantize(v * 65535, 65535));
        break;
    case Component::U32:
        reinterpret_cast<uint32_t *>(p)[i] = uint32_t(quantize(v, 4294967295.0));
        break;
    case Component::F16: reinterpret_cast<uint16_t *>(p)[i] = jit::float_to_half(float(v)); break;
    case Component::F32: reinterpret_cast<float *>(p)[i] = float(v); break;
    case Component::F64: reinterpret_cast<double *>(p)[i] = v; break;
    }
}

/// Linear values of the 256 codes of an 8-bit image.
const std::array<double, 256> &srgb_codes() {
    static const std::array<double, 256> table = [] {
        std::array<double, 256> t;
        for (size_t i = 0; i < 256; ++i)
            t[i] = srgb_decode(double(i) / 255);
        return t;
    }();
    return table;
}

} // namespace

const char *name(Component c) { return Info[size_t(c)].name; }
size_t bytes(Component c) { return Info[size_t(c)].bytes; }

bool is_alpha(std::string_view channel) {
    return channel == "A" || (channel.size() > 1 && channel.substr(channel.size() - 2) == ".A");
}

Image::Image(size_t width, size_t height, std::vector<std::string> channels, Component component,
             bool srgb)
    : m_width(width), m_height(height), m_channels(std::move(channels)), m_component(component),
      m_srgb(srgb) {
    for (size_t i = 0; i < m_channels.size(); ++i)
        if (find_channel(m_channels[i]) != int(i))
            fail("an image cannot have two channels called \"{}\"", m_channels[i]);
    m_data.resize(row_bytes() * m_height);
}

int Image::find_channel(std::string_view name) const {
    auto it = std::find(m_channels.begin(), m_channels.end(), name);
    return it == m_channels.end() ? -1 : int(it - m_channels.begin());
}

void Image::check_type(jit::Type t) const {
    if (t != Info[size_t(m_component)].type)
        fail("the image holds {}, not {}; use convert()", name(m_component), jit::name(t));
}

double Image::get(size_t x, size_t y, size_t channel) const {
    check(x < m_width && y < m_height && channel < m_channels.size());
    return load(m_component, m_data.data(), (y * m_width + x) * m_channels.size() + channel);
}

void Image::set(size_t x, size_t y, size_t channel, double value) {
    check(x < m_width && y < m_height && channel < m_channels.size());
    store(m_component, m_data.data(), (y * m_width + x) * m_channels.size() + channel, value);
}

void Image::read_row(size_t y, double *out, bool linear) const {
    check(y < m_height);
    const uint8_t *row = m_data.data() + y * row_bytes();
    size_t n = m_channels.size();
    for (size_t c = 0; c < n; ++c) {
        bool decode = linear && m_srgb && !is_alpha(m_channels[c]);
        if (decode && m_component == Component::U8)
            for (size_t i = c; i < m_width * n; i += n)
                out[i] = srgb_codes()[row[i]];
        else
            for (size_t i = c; i < m_width * n; i += n) {
                double v = load(m_component, row, i);
                out[i] = decode ? srgb_decode(v) : v;
            }
    }
}

void Image::write_row(size_t y, const double *in, bool linear) {
    check(y < m_height);
    uint8_t *row = m_data.data() + y * row_bytes();
    size_t n = m_channels.size();
    for (size_t c = 0; c < n; ++c) {
        bool encode = linear && m_srgb && !is_alpha(m_channels[c]);
        for (size_t i = c; i < m_width * n; i += n)
            store(m_component, row, i, encode ? srgb_encode(in[i]) : in[i]);
    }
}

Image Image::with_channels(std::vector<std::string> channels) const {
    Image out(m_width, m_height, std::move(channels), m_component, m_srgb);
    out.metadata = metadata;
    return out;
}

Image convert(const Image &image, Component component, bool srgb) {
    if (image.component() == component && image.srgb() == srgb)
        return image;
    Image out(image.width(), image.height(), image.channels(), component, srgb);
    out.metadata = image.metadata;
    bool recode = image.srgb() != srgb;
    std::vector<double> row(image.width() * image.channel_count());
    for (size_t y = 0; y < image.height(); ++y) {
        image.read_row(y, row.data(), recode);
        out.write_row(y, row.data(), recode);
    }
    return out;
}

Image convert(const Image &image, Component component) {
    return convert(image, component, component == Component::U8 || component == Component::U16);
}

} // namespace umbel
