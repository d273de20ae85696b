// core/distribution.h: distributions given by tables, sampled in traced code.
//
// Tables are data of the program: other numbers of the same count compile nothing. All random numbers are in
// [0, 1). Densities are with respect to the length or area of the domain that the constructor names.
#pragma once
#include "core/vector.h"
#include <span>
#include <vector>

namespace umbel {

/// An index with probability proportional to its weight.
class DiscreteDistribution {
public:
    DiscreteDistribution() = default;
    /// Weights are finite, not negative, and not all 0: else a UserError.
    explicit DiscreteDistribution(std::span<const double> weights);
    /// Evaluates the weights, and follows their derivatives.
    explicit DiscreteDistribution(const Float &weights);
    struct Tables {
        Float pmf, cdf; // weights as given, and their sums from the first on
    };
    /// Of tables that were another's.
    explicit DiscreteDistribution(Tables tables);

    size_t size() const { return m_tables.pmf.size(); }
    const Tables &tables() const { return m_tables; }
    const Float &sum() const { return m_sum; }

    /// The weight, as given.
    Float eval_pmf(const UInt32 &index, const Mask &active = true) const;
    Float eval_pmf_normalized(const UInt32 &index, const Mask &active = true) const;
    /// The sum of the weights of this index and smaller ones.
    Float eval_cdf(const UInt32 &index, const Mask &active = true) const;
    Float eval_cdf_normalized(const UInt32 &index, const Mask &active = true) const;

    UInt32 sample(const Float &u, const Mask &active = true) const;
    struct Reused {
        UInt32 index;
        Float u; // uniform again
        Float pmf;
    };
    /// Stretches what is left of the random number over [0, 1).
    Reused sample_reuse(const Float &u, const Mask &active = true) const;

private:
    UInt32 find(const Float &weight, const Mask &active) const;

    Tables m_tables;
    Float m_sum;
};

/// A piecewise linear density through values at regular or given positions, 0 outside.
class ContinuousDistribution {
public:
    ContinuousDistribution() = default;
    /// At equal distances from low to high, both included.
    ContinuousDistribution(double low, double high, std::span<const double> values);
    /// At strictly increasing positions.
    ContinuousDistribution(std::span<const double> nodes, std::span<const double> values);
    /// These evaluate their arrays, and follow the derivatives of both.
    ContinuousDistribution(double low, double high, const Float &values);
    ContinuousDistribution(const Float &nodes, const Float &values);
    struct Tables {
        double low = 0, high = 0;
        Float nodes;    // irregular ones only
        Float pdf, cdf; // values as given, and integrals up to the end of each interval
    };
    /// Of tables that were another's.
    explicit ContinuousDistribution(Tables tables);

    size_t size() const { return m_tables.pdf.size(); }
    const Tables &tables() const { return m_tables; }
    /// Of the values as given.
    const Float &integral() const { return m_integral; }
    /// The largest value. Evaluates them.
    double max() const;
    /// The least distance of positions.
    double interval_resolution() const;

    /// The values' interpolation, as given.
    Float eval_pdf(const Float &x, const Mask &active = true) const;
    Float eval_pdf_normalized(const Float &x, const Mask &active = true) const;
    /// Its integral up to x.
    Float eval_cdf(const Float &x, const Mask &active = true) const;
    Float eval_cdf_normalized(const Float &x, const Mask &active = true) const;

    struct Sample {
        Float x, pdf;
    };
    Sample sample(const Float &u, const Mask &active = true) const;

private:
    void build(std::span<const double> nodes, std::span<const double> values);
    void follow(const Float &nodes, const Float &values);
    struct Place;
    Place locate(const Float &x, const Mask &active) const;
    bool is_regular() const { return !m_tables.nodes.valid(); }
    /// Between two positions of a regular one.
    double step() const { return (m_tables.high - m_tables.low) / double(size() - 1); }
    /// Start and length of an interval.
    std::pair<Float, Float> interval(const UInt32 &i, const Mask &active) const;

    Tables m_tables;
    Float m_integral;
};

/// A density over the unit square, bilinear between values on a grid that includes the square's edges. Values
/// are row by row, x first.
class MarginalDistribution2D {
public:
    MarginalDistribution2D() = default;
    MarginalDistribution2D(std::span<const double> values, size_t width, size_t height);

    const Float &integral() const { return m_rows.integral(); }
    struct Sample {
        Vector2 p;
        Float pdf;
    };
    /// Continuous in u: neighbouring random numbers give neighbouring points.
    Sample sample(const Vector2 &u, const Mask &active = true) const;
    Float eval(const Vector2 &p, const Mask &active = true) const;
    Float pdf(const Vector2 &p, const Mask &active = true) const;

private:
    size_t m_width = 0, m_height = 0;
    ContinuousDistribution m_rows; // of y
    Float m_values, m_cumulative;  // cumulative: each row's integral from 0 to x
};

} // namespace umbel
