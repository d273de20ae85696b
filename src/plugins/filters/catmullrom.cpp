// catmullrom: the cubic filter that interpolates: mitchell with B = 0 and C = 1/2; sharp, and rings more.
#include "render/filter.h"
#include <cmath>

namespace umbel {

class CatmullRom final : public Filter {
public:
    double radius() const override { return 2; }
    double eval(double x) const override {
        x = std::abs(x);
        double x2 = x * x, x3 = x2 * x;
        return x < 1 ? 1.5 * x3 - 2.5 * x2 + 1 : x < 2 ? -0.5 * x3 + 2.5 * x2 - 4 * x + 2 : 0;
    }
    Float eval(const Float &at) const override {
        Float x = abs(at), x2 = x * x, x3 = x2 * x;
        Float outer = select(x < 2, -0.5 * x3 + 2.5 * x2 - 4 * x + 2, Float(0));
        return select(x < 1, 1.5 * x3 - 2.5 * x2 + 1, outer);
    }
};

UMBEL_PLUGIN(Filter, CatmullRom, "catmullrom")
} // namespace umbel
