// box: the mean over a pixel's own square.
#include "render/filter.h"

namespace umbel {

class Box final : public Filter {
public:
    void declare(Params &p) override {
        p.number("radius", m_radius, 0.5, 1e-3, 32).doc("Half the filter's width in pixels");
    }
    double eval(double x) const override { return x >= -m_radius && x < m_radius ? 1 : 0; }
    Float eval(const Float &x) const override {
        return select((x >= -m_radius) & (x < m_radius), Float(1), Float(0));
    }
    double radius() const override { return m_radius; }
    bool is_box() const override { return true; }

private:
    double m_radius = 0.5;
};

UMBEL_PLUGIN(Filter, Box, "box")
} // namespace umbel
