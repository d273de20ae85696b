// core/distribution.cpp: tables of one dimension, sampled by binary search.
#include "core/distribution.h"
#include "core/distribution_tools.h"
#include <cmath>

namespace umbel {

double check_weights(std::span<const double> weights, const char *what) {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
            fail("{}: value {} is {}; it must be finite and not negative", what, i, weights[i]);
        sum += weights[i];
    }
    if (!(sum > 0) || !std::isfinite(sum))
        fail("{}: {} values with a sum of {}; it must be positive and finite", what, weights.size(),
             sum);
    return sum;
}

// ---- Discrete

DiscreteDistribution::DiscreteDistribution(std::span<const double> weights)
    : m_size(weights.size()), m_sum(check_weights(weights, "discrete distribution")) {
    std::vector<double> pmf, cdf = { 0 };
    double sum = 0;
    for (double w : weights) {
        sum += w;
        pmf.push_back(w / m_sum);
        cdf.push_back(sum / m_sum); // exactly 1 from the last positive weight on
    }
    m_pmf = float_array(pmf);
    m_cdf = float_array(cdf);
}

UInt32 DiscreteDistribution::sample(const Float &u, const Mask &active) const {
    Float v = below_one(u);
    return count_leading(
        m_size - 1, [&](const UInt32 &i, const Mask &m) { return fetch(m_cdf, i + 1u, m) <= v; },
        active);
}

DiscreteDistribution::Reused DiscreteDistribution::sample_reuse(const Float &u,
                                                                const Mask &active) const {
    UInt32 index = sample(u, active);
    Float low = fetch(m_cdf, index, active), high = fetch(m_cdf, index + 1u, active);
    Float rest = (u - low) / select(high > low, high - low, 1);
    return { index, below_one(max(rest, 0)), eval_pmf(index, active) };
}

Float DiscreteDistribution::eval_pmf(const UInt32 &index, const Mask &active) const {
    return fetch(m_pmf, index, active);
}

Float DiscreteDistribution::eval_cdf(const UInt32 &index, const Mask &active) const {
    return fetch(m_cdf, index + 1u, active);
}

// ---- Continuous

ContinuousDistribution::ContinuousDistribution(double low, double high,
                                               std::span<const double> values) {
    if (!(low < high) || !std::isfinite(high - low))
        fail("continuous distribution: a range of {} to {}; it must be finite and increase", low,
             high);
    std::vector<double> nodes(values.size());
    for (size_t i = 0; i < nodes.size(); ++i)
        nodes[i] = low + (high - low) * double(i) / double(nodes.size() - 1);
    build(nodes, values);
}

ContinuousDistribution::ContinuousDistribution(std::span<const double> nodes,
                                               std::span<const double> values) {
    for (size_t i = 1; i < nodes.size(); ++i)
        if (!(nodes[i] > nodes[i - 1]))
            fail("continuous distribution: position {} is {} after {}; they must increase", i,
                 nodes[i], nodes[i - 1]);
    m_regular = false;
    build(nodes, values);
    m_nodes = float_array(nodes);
}

void ContinuousDistribution::build(std::span<const double> nodes, std::span<const double> values) {
    if (nodes.size() != values.size() || values.size() < 2)
        fail("continuous distribution: {} positions and {} values; it needs at least two of each",
             nodes.size(), values.size());
    check_weights(values, "continuous distribution");
    m_size = values.size();
    m_low = nodes.front();
    m_high = nodes.back();
    std::vector<double> cdf = { 0 };
    for (size_t i = 1; i < m_size; ++i)
        cdf.push_back(cdf.back() + 0.5 * (nodes[i] - nodes[i - 1]) * (values[i] + values[i - 1]));
    m_integral = cdf.back();
    if (!(m_integral > 0) || !std::isfinite(m_integral))
        fail("continuous distribution: an integral of {}; it must be positive and finite",
             m_integral);
    for (double &c : cdf)
        c /= m_integral;
    m_values = float_array(values);
    m_cdf = float_array(cdf);
    m_integral_value = opaque_float(m_integral);
}

std::pair<Float, Float> ContinuousDistribution::interval(const UInt32 &i,
                                                         const Mask &active) const {
    if (m_regular) {
        double width = (m_high - m_low) / double(m_size - 1);
        return { fma(Float(i), width, m_low), width };
    }
    Float start = fetch(m_nodes, i, active);
    return { start, fetch(m_nodes, i + 1u, active) - start };
}

ContinuousDistribution::Sample ContinuousDistribution::sample(const Float &u,
                                                              const Mask &active) const {
    Float v = below_one(u);
    UInt32 i = count_leading(
        m_size - 2, [&](const UInt32 &k, const Mask &m) { return fetch(m_cdf, k + 1u, m) <= v; },
        active);
    auto [start, width] = interval(i, active);
    Float f0 = fetch(m_values, i, active), f1 = fetch(m_values, i + 1u, active);
    Float s = sample_linear(f0, f1, (v - fetch(m_cdf, i, active)) * m_integral_value / width);
    return { fma(s, width, start), fma(f1 - f0, s, f0) / m_integral_value };
}

/// An interval, the position in it, and the values at its ends.
struct ContinuousDistribution::Place {
    UInt32 i;
    Float s, width, f0, f1;
    Mask inside;
};

ContinuousDistribution::Place ContinuousDistribution::locate(const Float &x,
                                                             const Mask &active) const {
    Place p;
    p.inside = active & (x >= m_low) & (x <= m_high);
    if (m_regular) {
        Float t = (x - m_low) * (double(m_size - 1) / (m_high - m_low));
        p.i = min(to_uint(t), UInt32(uint32_t(m_size - 2)));
    } else {
        p.i = count_leading(
            m_size - 2,
            [&](const UInt32 &k, const Mask &m) { return fetch(m_nodes, k + 1u, m) <= x; },
            p.inside);
    }
    auto [start, width] = interval(p.i, p.inside);
    p.width = width;
    p.s = clamp((x - start) / select(p.inside, width, 1), 0, 1);
    p.f0 = fetch(m_values, p.i, p.inside);
    p.f1 = fetch(m_values, p.i + 1u, p.inside);
    return p;
}

Float ContinuousDistribution::eval(const Float &x, const Mask &active) const {
    Place p = locate(x, active);
    return select(p.inside, fma(p.f1 - p.f0, p.s, p.f0), 0);
}

Float ContinuousDistribution::pdf(const Float &x, const Mask &active) const {
    return eval(x, active) / m_integral_value;
}

Float ContinuousDistribution::cdf(const Float &x, const Mask &active) const {
    Place p = locate(x, active);
    Float part = p.width * p.s * fma(0.5 * (p.f1 - p.f0), p.s, p.f0) / m_integral_value;
    Float inside = min(fetch(m_cdf, p.i, p.inside) + part, 1);
    return select(p.inside, inside, select(active & (x > m_high), 1, 0));
}

} // namespace umbel
