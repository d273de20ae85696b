// core/image.cpp: storage of images, and conversion between component types.
#include "core/image.h"
#include "core/colour.h"
#include "core/large_pages.h"
#include "core/limits.h"
#include "jit/parallel.h"
#include "jit/value.h"
#include <algorithm>
#include <array>
#include <bit>
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

/// Nearest integer in [0, top]; the comparison is false for NaN, which becomes 0.
double quantize(double v, double top) { return v > 0 ? std::floor(std::min(v, top) + 0.5) : 0; }

// Calls f with a function that reads the number at an index of p.
template <class F> auto with_reader(Component c, const uint8_t *p, F &&f) {
    auto as = [p]<class T>(T) { return reinterpret_cast<const T *>(p); };
    switch (c) {
    case Component::U8: return f([=](size_t i) { return p[i] / 255.0; });
    case Component::U16: return f([q = as(uint16_t())](size_t i) { return q[i] / 65535.0; });
    case Component::U32: return f([q = as(uint32_t())](size_t i) { return double(q[i]); });
    case Component::F16:
        return f([q = as(uint16_t())](size_t i) { return double(jit::half_to_float(q[i])); });
    case Component::F32: return f([q = as(float())](size_t i) { return double(q[i]); });
    case Component::F64: break;
    }
    return f([q = as(double())](size_t i) { return q[i]; });
}

// Calls f with a function that writes it.
template <class F> void with_writer(Component c, uint8_t *p, F &&f) {
    auto as = [p]<class T>(T) { return reinterpret_cast<T *>(p); };
    auto integers = [&](auto *q, double scale, double top) {
        f([=](size_t i, double v) {
            q[i] = std::remove_reference_t<decltype(*q)>(quantize(v * scale, top));
        });
    };
    switch (c) {
    case Component::U8: return integers(p, 255, 255);
    case Component::U16: return integers(as(uint16_t()), 65535, 65535);
    case Component::U32: return integers(as(uint32_t()), 1, 4294967295.0);
    case Component::F16:
        return f([q = as(uint16_t())](size_t i, double v) { q[i] = jit::float_to_half(float(v)); });
    case Component::F32: return f([q = as(float())](size_t i, double v) { q[i] = float(v); });
    case Component::F64: return f([q = as(double())](size_t i, double v) { q[i] = v; });
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

/// As jit::half_to_float(), in whole numbers and masks: compilers make vectors of it.
float float_of_half(uint16_t h) {
    uint32_t bits = uint32_t(h & 0x7fff) << 13, exponent = bits & 0x0f800000;
    uint32_t is_small = -uint32_t(exponent == 0), is_special = -uint32_t(exponent == 0x0f800000),
             is_nan = -uint32_t(bits > 0x0f800000);
    // Biases of exponents differ by 112; those of infinities and NaNs, which become quiet, by as much again
    uint32_t normal = bits + (112u << 23) + (is_special & (112u << 23));
    normal |= is_nan & 0x00400000;
    // What is subnormal, on top of 2^-14 and less it
    float small = std::bit_cast<float>(bits + (113u << 23)) - std::bit_cast<float>(113u << 23);
    uint32_t all = (normal & ~is_small) | (std::bit_cast<uint32_t>(small) & is_small);
    return std::bit_cast<float>(all | uint32_t(h & 0x8000) << 16);
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
    double needed = double(width) * double(height) * double(m_channels.size()) *
                    double(umbel::bytes(component));
    std::string what = fmt::format("an image of {} x {} pixels with {} channels", width, height,
                                   m_channels.size());
    ask_for_memory(needed, what);
    try {
        // Not by all cores, as resize_large() does: whoever reads files may hold locks that other tasks wait for
        reserve_large(m_data, row_bytes() * m_height);
        m_data.resize(row_bytes() * m_height);
    } catch (const std::bad_alloc &) { // in pieces, or for other threads meanwhile
        throw DeviceError(fmt::format("{}: {} of memory are needed, and cannot be had", what,
                                      format_bytes(needed)));
    }
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
    size_t i = (y * m_width + x) * m_channels.size() + channel;
    return with_reader(m_component, m_data.data(), [=](auto &&read) { return read(i); });
}

void Image::set(size_t x, size_t y, size_t channel, double value) {
    check(x < m_width && y < m_height && channel < m_channels.size());
    size_t i = (y * m_width + x) * m_channels.size() + channel;
    with_writer(m_component, m_data.data(), [=](auto &&write) { write(i, value); });
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
            with_reader(m_component, row, [&](auto &&read) {
                for (size_t i = c; i < m_width * n; i += n)
                    out[i] = decode ? srgb_decode(read(i)) : read(i);
            });
    }
}

void Image::write_row(size_t y, const double *in, bool linear) {
    check(y < m_height);
    uint8_t *row = m_data.data() + y * row_bytes();
    size_t n = m_channels.size();
    for (size_t c = 0; c < n; ++c) {
        bool encode = linear && m_srgb && !is_alpha(m_channels[c]);
        with_writer(m_component, row, [&](auto &&write) {
            for (size_t i = c; i < m_width * n; i += n)
                write(i, encode ? srgb_encode(in[i]) : in[i]);
        });
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
    if (!recode && image.component() == Component::F16 && component == Component::F32) {
        const auto *from = reinterpret_cast<const uint16_t *>(image.bytes());
        auto *to = reinterpret_cast<float *>(out.bytes());
        size_t n = image.pixels() * image.channel_count();
        jit::parallel_for(tbb::blocked_range<size_t>(0, n, 1 << 16), [&](const auto &range) {
            for (size_t i = range.begin(); i < range.end(); ++i)
                to[i] = float_of_half(from[i]);
        });
        return out;
    }
    jit::parallel_for(tbb::blocked_range<size_t>(0, image.height(), 16), [&](const auto &rows) {
        std::vector<double> row(image.width() * image.channel_count());
        for (size_t y = rows.begin(); y < rows.end(); ++y) {
            image.read_row(y, row.data(), recode);
            out.write_row(y, row.data(), recode);
        }
    });
    return out;
}

Image convert(const Image &image, Component component) {
    return convert(image, component, component == Component::U8 || component == Component::U16);
}

} // namespace umbel
