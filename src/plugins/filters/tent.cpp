// tent: a triangle.
//
//     f(x) = max(0, 1 - |x| / radius)
#include "render/filter.h"
#include <cmath>

namespace umbel {

class Tent final : public Filter {
public:
    void declare(Params &p) override {
        p.number("radius", m_radius, 1, 1e-3, 32).doc("Half the filter's width in pixels");
    }
    double radius() const override { return m_radius; }
    double eval(double x) const override { return std::max(0.0, 1 - std::abs(x) / m_radius); }
    Float eval(const Float &x) const override { return max(1 - abs(x) * (1 / m_radius), 0); }

private:
    double m_radius = 1;
};

UMBEL_PLUGIN(Filter, Tent, "tent")
} // namespace umbel
