// render/filter.h: reconstruction filters.
#pragma once
#include "core/alias_table.h"
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

    /// An offset drawn from the filter's absolute value, and its weight, 1 on average: filter importance
    /// sampling [Ernst 2006].
    std::pair<Float, Float> sample(const Float &u) const;
    /// The profile in recorded code, from a table; zero beyond radius().
    Float profile(const Float &x) const;
    void configure() override;
    /// Integral from `a` to `b` over the whole one; of the host.
    double mass(double a, double b) const;

private:
    static constexpr int Cells = 256;
    AliasTable m_cells;
    Float m_weights; // at both ends of each cell
    Float m_profile; // the values there
    Float m_radius;
};

} // namespace umbel
