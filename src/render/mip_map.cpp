// render/mip_map.cpp: see render/mip_map.h.
#include "render/mip_map.h"
#include "core/host_array.h"
#include "jit/element_count.h"
#include <algorithm>

namespace umbel {

MipMap::MipMap(size_t width, size_t height, Boundary horizontal, Boundary vertical)
    : m_boundary{ horizontal, vertical } {
    std::vector<uint32_t> table;
    while (true) {
        m_sizes.push_back({ width, height });
        table.insert(table.end(), { m_texels, uint32_t(width), uint32_t(height), 0 });
        m_texels = jit::element_count(m_texels + width * height);
        if (width == 1 && height == 1)
            break;
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    m_table = jit::copy(table);
    m_last = opaque_float(double(m_sizes.size() - 1));
}

Float MipMap::build(const Float &image, uint32_t channels, const Float &minimum) const {
    std::vector<Float> levels = { image };
    for (size_t i = 1; i < m_sizes.size(); ++i) {
        auto [w0, h0] = m_sizes[i - 1];
        auto [w, h] = m_sizes[i];
        Float narrow = shrink(levels.back(), channels, w0, w, h0, true, m_boundary[0]);
        levels.push_back(max(shrink(narrow, channels, h0, h, w, false, m_boundary[1]), minimum));
        jit::eval(levels.back());
    }
    Value all =
        jit::full(variant().float_type(), 0, jit::element_count(uint64_t(m_texels) * channels));
    uint32_t first = 0;
    for (const Float &level : levels) {
        UInt32 lane(jit::lane_index(level.size()));
        jit::scatter(all, level, lane + jit::opaque(first), Mask(true));
        first += level.size();
    }
    return Float(all);
}

// From `from` to `to` texels along one axis; `lines` is how many there are along the other.
Float MipMap::shrink(const Float &image, uint32_t channels, size_t from, size_t to, size_t lines,
                     bool is_across, Boundary boundary) const {
    ResamplingTaps taps = resampling_taps(from, to, lanczos_filter(2), boundary);
    size_t most = 0;
    for (size_t i = 0; i < to; ++i)
        most = std::max(most, taps.begin[i + 1] - taps.begin[i]);
    std::vector<uint32_t> sources(to * most);
    std::vector<double> weights(to * most);
    for (size_t i = 0; i < to; ++i)
        for (size_t k = taps.begin[i]; k < taps.begin[i + 1]; ++k) {
            size_t at = i * most + k - taps.begin[i];
            sources[at] = uint32_t(taps.source[k]);
            weights[at] = taps.weight[k];
        }
    UInt32 source = jit::copy(sources);
    Float weight = float_array(weights), rest = float_array(taps.rest);

    UInt32 lane(jit::lane_index(jit::element_count(to * lines * channels))), count(channels),
        texel = lane / count, c = lane - texel * count;
    UInt32 columns = jit::opaque(uint32_t(is_across ? to : lines)),
           length = jit::opaque(uint32_t(from)), row = texel / columns,
           column = texel - row * columns, place = is_across ? column : row;
    Float sum(jit::gather(rest, place, Mask(true)));
    for (size_t k = 0; k < most; ++k) {
        UInt32 at = place * UInt32(uint32_t(most)) + UInt32(uint32_t(k)),
               s(jit::gather(source, at, Mask(true)));
        UInt32 from_texel = is_across ? row * length + s : s * columns + column;
        sum = fma(Float(jit::gather(image, from_texel * count + c, Mask(true))),
                  Float(jit::gather(weight, at, Mask(true))), sum);
    }
    return sum;
}

MipMap::Level MipMap::level(const UInt32 &number, const Mask &active) const {
    auto [first, width, height, none] = jit::gather_packet<uint32_t, 4>(m_table, number, active);
    return { first, Float(width), Float(height) };
}

MipMap::Ellipse MipMap::ellipse(const Vector2 &dx, const Vector2 &dy) {
    Float xx = dx.x * dx.x + dy.x * dy.x, yy = dx.y * dx.y + dy.y * dy.y,
          xy = dx.x * dx.y + dy.x * dy.y;
    Float root = safe_sqrt(sqr(xx - yy) + 4 * xy * xy);
    return { xx, xy, yy, safe_sqrt(0.5 * (xx + yy + root)), safe_sqrt(0.5 * (xx + yy - root)) };
}

// What is missing goes to the minor axis: its projection is (major^2 - S) / (major^2 - minor^2).
MipMap::Ellipse MipMap::bounded(const Ellipse &e, const Float &most) {
    Float major2 = sqr(e.major), minor = max(e.minor, e.major / most);
    Float between = major2 - sqr(e.minor), more = sqr(minor) - sqr(e.minor);
    Float k = select(between > 0, more / select(between > 0, between, Float(1)), Float(0));
    return { fma(k, major2 - e.xx, e.xx), e.xy * (1 - k), fma(k, major2 - e.yy, e.yy), e.major,
             minor };
}

MipMap::Choice MipMap::choose(const Float &radius) const {
    Float level = clamp(log(max(radius, 1)) * (1 / std::log(2.0)), 0, m_last), lower = floor(level);
    return { { to_uint(lower), to_uint(min(lower + 1, m_last)) }, level - lower };
}

} // namespace umbel
