// gaussian: a Gaussian bell, cut off where it is small and lowered so that it ends at zero.
//
//     f(x) = max(0, exp(-x^2 / (2 stddev^2)) - exp(-radius^2 / (2 stddev^2)))      radius = 4 stddev
#include "render/filter.h"
#include <cmath>

namespace umbel {

class Gaussian final : public Filter {
public:
    void declare(Params &p) override {
        p.number("stddev", m_stddev, 0.5, 1e-3, 1024).doc("Standard deviation in pixels");
    }
    double radius() const override { return 4 * m_stddev; }
    double eval(double x) const override {
        double alpha = -1 / (2 * m_stddev * m_stddev);
        return std::max(0.0, std::exp(alpha * x * x) - std::exp(alpha * radius() * radius()));
    }
    Float eval(const Float &x) const override {
        double alpha = -1 / (2 * m_stddev * m_stddev);
        return max(exp(x * x * alpha) - std::exp(alpha * radius() * radius()), 0);
    }

private:
    double m_stddev = 0.5;
};

UMBEL_PLUGIN(Filter, Gaussian, "gaussian")
} // namespace umbel
