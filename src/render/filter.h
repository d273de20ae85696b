// render/filter.h: reconstruction filters.
#pragma once
#include "core/object.h"

namespace umbel {

/// A separable filter, given by its profile on one axis, in pixels.
class Filter : public Object {
public:
    static constexpr const char *Kind = "rfilter";

    /// Of the host; zero beyond radius().
    virtual double eval(double x) const = 0;
    /// The same in recorded code.
    virtual Float eval(const Float &x) const { return profile(x); }
    virtual double radius() const = 0;
    virtual bool is_box() const { return false; }
    /// How many pixels around an image samples inside of it reach.
    int border_size() const;

    /// The profile in recorded code, from a table; zero beyond radius().
    Float profile(const Float &x) const;
    void configure() override;
    /// Grows with each change.
    int revision() const { return m_revision; }

private:
    static constexpr int Cells = 256;
    Float m_profile; // the values at both ends of each cell
    Float m_radius;
    int m_revision = 0;
};

/// Offsets from the pixels of a row, or of a column, drawn from a filter's absolute value, with weights that are 1 on
/// average: filter importance sampling [Ernst 2006].
class FilterAxis {
public:
    FilterAxis() = default;
    /// `ends`: around the first and the last of `size` pixels, what is left of the filter is drawn from.
    FilterAxis(const Filter &filter, int size, bool ends);
    /// For pixels by their number.
    std::pair<Float, Float> sample(const Float &u, const UInt32 &pixel, const Mask &active) const;
    /// The other way round: one of the pixels that a place contributes to, and a weight, such that the mean over all
    /// places is what sample() gives.
    std::pair<UInt32, Float> choose_pixel(const Float &place, const Float &u,
                                          const Mask &active) const;

private:
    static constexpr uint32_t Cells = 512;
    struct Interval;
    /// Adds an interval's cells; its integral, and the weight of samples that are not negative.
    static std::pair<double, double> tabulate(const Filter &filter, const Interval &interval,
                                              std::vector<double> &cells);

    UInt32 interval_of(const UInt32 &pixel, const Mask &active) const {
        return m_interval_of.valid() ? jit::gather(m_interval_of, pixel, active) : UInt32(0u);
    }

    const Filter *m_filter = nullptr; // the film's
    int m_size = 0;
    bool m_is_box = false;
    Float
        m_cells; // for each interval of offsets that some pixel has: begin, width, profile at both ends
    Float m_intervals; // half the width, middle, weight of samples that are not negative, integral
    UInt32 m_interval_of; // by pixel; none where all have the same
};

} // namespace umbel
