// lanczos: the ideal low-pass filter, windowed by its own main lobe: the sharpest, and the one that rings most.
//
//     f(x) = sinc(x) sinc(x / lobes)      |x| < lobes
#include "render/filter.h"
#include <cmath>

namespace umbel {

class Lanczos final : public Filter {
public:
    void declare(Params &p) override {
        p.integer("lobes", m_lobes, 3, 1, 16).doc("Lobes on each side");
    }
    double radius() const override { return m_lobes; }
    double eval(double x) const override {
        return std::abs(x) < m_lobes ? sinc(x) * sinc(x / m_lobes) : 0;
    }
    Float eval(const Float &x) const override {
        return select(abs(x) < double(m_lobes), sinc(x) * sinc(x * (1.0 / m_lobes)), Float(0));
    }

private:
    static double sinc(double x) { return std::abs(x) < 1e-9 ? 1 : std::sin(Pi * x) / (Pi * x); }
    static Float sinc(const Float &x) {
        Mask centre = abs(x) < 1e-6;
        Float y = select(centre, Float(1), x * Pi);
        return select(centre, Float(1), sin(y) / y);
    }
    int m_lobes = 3;
};

UMBEL_PLUGIN(Filter, Lanczos, "lanczos")
} // namespace umbel
