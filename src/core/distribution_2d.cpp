// core/distribution_2d.cpp: tables of two dimensions, bilinear through marginals.
#include "core/distribution.h"
#include "core/distribution_tools.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

void check_size(size_t values, size_t width, size_t height, size_t least, const char *what) {
    if (width < least || height < least || values != width * height)
        fail("{}: {} values for {} x {}; sides must be at least {}", what, values, width, height,
             least);
    if (values > 0x3fffffff)
        fail("{}: {} values; up to 2^30 are possible: scale it down", what, values);
}

} // namespace

MarginalDistribution2D::MarginalDistribution2D(std::span<const double> values, size_t width,
                                               size_t height)
    : m_width(width), m_height(height) {
    check_size(values.size(), width, height, 2, "2D distribution");
    check_weights(values, "2D distribution");
    std::vector<double> rows, cumulative;
    double dx = 1 / double(width - 1);
    for (size_t y = 0; y < height; ++y) {
        double sum = 0;
        for (size_t x = 0; x < width; ++x) {
            if (x > 0)
                sum += 0.5 * dx * (values[y * width + x - 1] + values[y * width + x]);
            cumulative.push_back(sum);
        }
        rows.push_back(sum);
    }
    // A row between two others is their mixture, and so is its integral: linear in y
    m_rows = ContinuousDistribution(0, 1, rows);
    m_values = float_array(values);
    m_cumulative = float_array(cumulative);
}

MarginalDistribution2D::Sample MarginalDistribution2D::sample(const Vector2 &u,
                                                              const Mask &active) const {
    // The row, between two of the table's
    Float y = m_rows.sample(u.y, active).x, fy = y * double(m_height - 1);
    UInt32 j = min(to_uint(fy), UInt32(uint32_t(m_height - 2)));
    Float t = fy - Float(j);
    auto width = uint32_t(m_width);
    UInt32 row = j * width;
    auto mixed = [&](const Float &table, const UInt32 &i, const Mask &m) {
        UInt32 at = row + i;
        return lerp(fetch(table, at, m), fetch(table, at + width, m), t);
    };

    // The position in it
    Float target = below_one(u.x) * mixed(m_cumulative, UInt32(width - 1), active);
    UInt32 i = count_leading(
        m_width - 2,
        [&](const UInt32 &k, const Mask &m) { return mixed(m_cumulative, k + 1u, m) <= target; },
        active);
    Float f0 = mixed(m_values, i, active), f1 = mixed(m_values, i + 1u, active);
    double columns = double(m_width - 1);
    Float s = sample_linear(f0, f1, (target - mixed(m_cumulative, i, active)) * columns);
    return { { (Float(i) + s) * (1 / columns), y }, fma(f1 - f0, s, f0) / integral() };
}

Float MarginalDistribution2D::eval(const Vector2 &p, const Mask &active) const {
    Mask inside = active & (p.x >= 0) & (p.x <= 1) & (p.y >= 0) & (p.y <= 1);
    Float fx = p.x * double(m_width - 1), fy = p.y * double(m_height - 1);
    auto width = uint32_t(m_width);
    UInt32 i = min(to_uint(fx), UInt32(width - 2));
    UInt32 j = min(to_uint(fy), UInt32(uint32_t(m_height - 2)));
    Float s = fx - Float(i), t = fy - Float(j);
    UInt32 at = j * width + i;
    auto row = [&](const UInt32 &a) {
        return lerp(fetch(m_values, a, inside), fetch(m_values, a + 1u, inside), s);
    };
    return select(inside, lerp(row(at), row(at + width), t), 0);
}

Float MarginalDistribution2D::pdf(const Vector2 &p, const Mask &active) const {
    return eval(p, active) / integral();
}

} // namespace umbel
