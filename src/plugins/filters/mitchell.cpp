// mitchell: the family of cubic filters of [Mitchell 1988], sharp with little ringing at B = C = 1/3.
#include "render/filter.h"
#include <cmath>

namespace umbel {

class Mitchell final : public Filter {
public:
    void declare(Params &p) override {
        p.number("B", m_b, 1.0 / 3).doc("Blurring against ringing");
        p.number("C", m_c, 1.0 / 3).doc("Ringing against anisotropy");
    }
    double radius() const override { return 2; }
    double eval(double x) const override {
        x = std::abs(x);
        double x2 = x * x, x3 = x2 * x, b = m_b, c = m_c;
        if (x < 1)
            return ((12 - 9 * b - 6 * c) * x3 + (-18 + 12 * b + 6 * c) * x2 + (6 - 2 * b)) / 6;
        if (x < 2)
            return ((-b - 6 * c) * x3 + (6 * b + 30 * c) * x2 + (-12 * b - 48 * c) * x +
                    (8 * b + 24 * c)) /
                   6;
        return 0;
    }
    Float eval(const Float &at) const override {
        Float x = abs(at), x2 = x * x, x3 = x2 * x;
        double b = m_b, c = m_c;
        Float inner = (12 - 9 * b - 6 * c) * x3 + (-18 + 12 * b + 6 * c) * x2 + (6 - 2 * b);
        Float outer =
            (-b - 6 * c) * x3 + (6 * b + 30 * c) * x2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c);
        return select(x < 1, inner, select(x < 2, outer, Float(0))) * (1.0 / 6);
    }

private:
    double m_b = 1.0 / 3, m_c = 1.0 / 3;
};

UMBEL_PLUGIN(Filter, Mitchell, "mitchell")
} // namespace umbel
