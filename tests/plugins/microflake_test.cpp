// tests/plugins/microflake_test.cpp: flakes around fibres.
#include "support/phases.h"

namespace umbel {
using namespace test;

class BackendMicroflake : public VariantTest {
protected:
    static Ref<PhaseFunction> flakes(double stddev) {
        return phase_from(fmt::format(
            "<phase type='microflake'><float name='stddev' value='{}'/></phase>", stddev));
    }
    static double area(const PhaseFunction &phase, double sine) {
        MediumInteraction mei = collision_along_z();
        mei.wi = { opaque_float(0.6 * sine), opaque_float(0.8 * sine),
                   opaque_float(std::sqrt(1 - sine * sine)) };
        return read_floats(phase.projected_area(mei, true))[0];
    }
};
UMBEL_VARIANTS(BackendMicroflake, "llvm_rgb", "interp_spectral_double")

// Twice the mean of |w . m|, with normals m on a grid of the sphere.
TEST_P(BackendMicroflake, CoversWhatItsNormalsShow) {
    for (double s : { 0.05, 0.3, 2.0 })
        for (double sine : { 0.0, 0.02, 0.5, 1.0 }) {
            double sum = 0, all = 0, cosine = std::sqrt(1 - sine * sine);
            for (int i = 0; i < 2000; ++i)
                for (int k = 0; k < 500; ++k) {
                    double c = (i + 0.5) / 1000 - 1, angle = 2 * Pi * (k + 0.5) / 500;
                    double d = std::exp(-0.5 * c * c / (s * s));
                    all += d;
                    sum += 2 * d *
                           std::abs(cosine * c + sine * std::sqrt(1 - c * c) * std::cos(angle));
                }
            EXPECT_NEAR(area(*flakes(s), sine), sum / all, 1e-4) << s << ", " << sine;
        }
}

TEST_P(BackendMicroflake, WithoutOrderItIsIsotropic) {
    auto phase = flakes(1000);
    EXPECT_NEAR(area(*phase, 0.3), 1, 1e-5);
    for (double c : { -1.0, 0.2, 0.9 })
        EXPECT_NEAR(phase_value(*phase, c), 1 / (4 * Pi), 1e-5);
}

// Fibres along z that are smooth mirror light that comes across them across them.
TEST_P(BackendMicroflake, SmoothFibresMirrorIntoACone) {
    auto phase = flakes(0.02);
    MediumInteraction mei = collision_along_z();
    mei.wi = { Float(0.6), Float(0), Float(0.8) };
    mei.sh_frame = Frame(mei.wi);
    const size_t n = 4096;
    Vector2 u{ make(uniform_numbers(5, n)), make(uniform_numbers(6, n)) };
    auto s = phase->sample({}, mei, Float(0.5), u, true);
    // On average by weight; a mirrored direction has z = -0.8
    expect_estimate(select(abs(s.wo.z + 0.8) < 0.15, s.weight[0], Float(0)), 1, "in the cone");
}

TEST(Microflake, BadParametersAreErrors) {
    VariantScope scope(find_variant("llvm_rgb"));
    EXPECT_THROW(phase_from("<phase type='microflake'><float name='stddev' value='0'/></phase>"),
                 UserError);
    EXPECT_THROW(phase_from("<phase type='microflake'><volume name='orientation' "
                            "type='constvolume'><float name='value' value='1'/></volume></phase>"),
                 UserError);
}

} // namespace umbel
