// core/distribution.cpp: tables of one dimension, sampled by binary search.
#include "core/distribution.h"
#include "ad/ad.h"
#include "core/distribution_tools.h"
#include <algorithm>
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

namespace {

Float last_of(const Float &table) {
    return fetch(table, UInt32(uint32_t(table.size() - 1)), Mask(true));
}

/// The sum up to the entry before.
Float below(const Float &cdf, const UInt32 &index, const Mask &active) {
    return fetch(cdf, index - 1u, active & (index > 0u));
}

/// Of an array, which may be none.
std::vector<double> numbers(const Float &v) {
    return v.valid() ? read_floats(Float(v.detached())) : std::vector<double>();
}

bool has_gradient(const Float &v) { return v.valid() && ad::grad_enabled(v); }

/// Sums of the host, which are right to the last bit, with the derivatives of those of the program.
Float following(const Float &sums, const Float &terms) {
    return Float(ad::replace_grad(sums, jit::prefix_sum(terms, false)));
}

} // namespace

// ---- Discrete

DiscreteDistribution::DiscreteDistribution(std::span<const double> weights) {
    m_sum = opaque_float(check_weights(weights, "discrete distribution"));
    std::vector<double> cdf;
    double sum = 0;
    for (double w : weights)
        cdf.push_back(sum += w); // all of it from the last positive weight on
    m_tables = { float_array(weights), float_array(cdf) };
}

DiscreteDistribution::DiscreteDistribution(const Float &weights)
    : DiscreteDistribution(numbers(weights)) {
    m_tables.pmf = weights;
    if (!has_gradient(weights))
        return;
    m_tables.cdf = following(m_tables.cdf, weights);
    m_sum = last_of(m_tables.cdf);
}

DiscreteDistribution::DiscreteDistribution(Tables tables)
    : m_tables(std::move(tables)), m_sum(last_of(m_tables.cdf)) {}

Float DiscreteDistribution::eval_pmf(const UInt32 &index, const Mask &active) const {
    return fetch(m_tables.pmf, index, active);
}

Float DiscreteDistribution::eval_pmf_normalized(const UInt32 &index, const Mask &active) const {
    return eval_pmf(index, active) / m_sum;
}

Float DiscreteDistribution::eval_cdf(const UInt32 &index, const Mask &active) const {
    return fetch(m_tables.cdf, index, active);
}

Float DiscreteDistribution::eval_cdf_normalized(const UInt32 &index, const Mask &active) const {
    return eval_cdf(index, active) / m_sum;
}

// What is below 1 stays below the sum when multiplied with it: so trailing zeros are never found.
UInt32 DiscreteDistribution::find(const Float &weight, const Mask &active) const {
    return count_leading(
        size() - 1,
        [&](const UInt32 &i, const Mask &m) { return fetch(m_tables.cdf, i, m) <= weight; },
        active);
}

UInt32 DiscreteDistribution::sample(const Float &u, const Mask &active) const {
    return find(below_one(u) * m_sum, active);
}

DiscreteDistribution::Reused DiscreteDistribution::sample_reuse(const Float &u,
                                                                const Mask &active) const {
    Float v = below_one(u) * m_sum;
    UInt32 index = find(v, active);
    Float weight = eval_pmf(index, active);
    Float rest = (v - below(m_tables.cdf, index, active)) / select(weight > 0, weight, 1);
    return { index, below_one(max(rest, 0)), weight / m_sum };
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
    build(nodes, values);
    m_tables.nodes = float_array(nodes);
}

ContinuousDistribution::ContinuousDistribution(double low, double high, const Float &values)
    : ContinuousDistribution(low, high, numbers(values)) {
    follow(Float(), values);
}

ContinuousDistribution::ContinuousDistribution(const Float &nodes, const Float &values)
    : ContinuousDistribution(numbers(nodes), numbers(values)) {
    follow(nodes, values);
}

ContinuousDistribution::ContinuousDistribution(Tables tables)
    : m_tables(std::move(tables)), m_integral(last_of(m_tables.cdf)) {}

void ContinuousDistribution::build(std::span<const double> nodes, std::span<const double> values) {
    if (nodes.size() != values.size() || values.size() < 2)
        fail("continuous distribution: {} positions and {} values; it needs at least two of each",
             nodes.size(), values.size());
    check_weights(values, "continuous distribution");
    std::vector<double> cdf;
    double integral = 0;
    for (size_t i = 1; i < values.size(); ++i)
        cdf.push_back(integral += 0.5 * (nodes[i] - nodes[i - 1]) * (values[i] + values[i - 1]));
    if (!(integral > 0) || !std::isfinite(integral))
        fail("continuous distribution: an integral of {}; it must be positive and finite",
             integral);
    m_tables = { nodes.front(), nodes.back(), Float(), float_array(values), float_array(cdf) };
    m_integral = opaque_float(integral);
}

void ContinuousDistribution::follow(const Float &nodes, const Float &values) {
    m_tables.nodes = nodes;
    m_tables.pdf = values;
    if (!has_gradient(nodes) && !has_gradient(values))
        return;
    UInt32 i(jit::lane_index(size() - 1));
    Mask all(true);
    Float width = interval(i, all).second;
    Float area = 0.5 * (fetch(values, i, all) + fetch(values, i + 1u, all)) * width;
    m_tables.cdf = following(m_tables.cdf, area);
    m_integral = last_of(m_tables.cdf);
}

double ContinuousDistribution::max() const {
    std::vector<double> values = numbers(m_tables.pdf);
    return *std::max_element(values.begin(), values.end());
}

double ContinuousDistribution::interval_resolution() const {
    if (is_regular())
        return step();
    std::vector<double> nodes = numbers(m_tables.nodes);
    double least = nodes.back() - nodes.front();
    for (size_t i = 1; i < nodes.size(); ++i)
        least = std::min(least, nodes[i] - nodes[i - 1]);
    return least;
}

std::pair<Float, Float> ContinuousDistribution::interval(const UInt32 &i,
                                                         const Mask &active) const {
    if (is_regular())
        return { fma(Float(i), step(), m_tables.low), step() };
    Float start = fetch(m_tables.nodes, i, active);
    return { start, fetch(m_tables.nodes, i + 1u, active) - start };
}

ContinuousDistribution::Sample ContinuousDistribution::sample(const Float &u,
                                                              const Mask &active) const {
    Float v = below_one(u) * m_integral;
    UInt32 i = count_leading(
        size() - 2, [&](const UInt32 &k, const Mask &m) { return fetch(m_tables.cdf, k, m) <= v; },
        active);
    auto [start, width] = interval(i, active);
    Float f0 = fetch(m_tables.pdf, i, active), f1 = fetch(m_tables.pdf, i + 1u, active);
    Float s = sample_linear(f0, f1, (v - below(m_tables.cdf, i, active)) / width);
    return { fma(s, width, start), fma(f1 - f0, s, f0) / m_integral };
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
    p.inside = active & (x >= m_tables.low) & (x <= m_tables.high);
    if (is_regular()) {
        Float t = (x - m_tables.low) * (1 / step());
        p.i = min(to_uint(t), UInt32(uint32_t(size() - 2)));
    } else {
        p.i = count_leading(
            size() - 2,
            [&](const UInt32 &k, const Mask &m) { return fetch(m_tables.nodes, k + 1u, m) <= x; },
            p.inside);
    }
    auto [start, width] = interval(p.i, p.inside);
    p.width = width;
    p.s = clamp((x - start) / select(p.inside, width, 1), 0, 1);
    p.f0 = fetch(m_tables.pdf, p.i, p.inside);
    p.f1 = fetch(m_tables.pdf, p.i + 1u, p.inside);
    return p;
}

Float ContinuousDistribution::eval_pdf(const Float &x, const Mask &active) const {
    Place p = locate(x, active);
    return select(p.inside, fma(p.f1 - p.f0, p.s, p.f0), 0);
}

Float ContinuousDistribution::eval_pdf_normalized(const Float &x, const Mask &active) const {
    return eval_pdf(x, active) / m_integral;
}

Float ContinuousDistribution::eval_cdf(const Float &x, const Mask &active) const {
    Place p = locate(x, active);
    Float part = p.width * p.s * fma(0.5 * (p.f1 - p.f0), p.s, p.f0);
    Float inside = min(below(m_tables.cdf, p.i, p.inside) + part, m_integral);
    return select(p.inside, inside, select(active & (x > m_tables.high), m_integral, 0));
}

Float ContinuousDistribution::eval_cdf_normalized(const Float &x, const Mask &active) const {
    return eval_cdf(x, active) / m_integral;
}

} // namespace umbel
