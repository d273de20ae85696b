// tests/plugins/phong_test.cpp: the modified Phong model: exact values and its bound.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendPhong : public BsdfTest {
protected:
    static double f(const std::string &inside, const Vector3 &wi, const Vector3 &wo) {
        Ref<BSDF> bsdf = make("<bsdf type='phong'>" + inside + "</bsdf>");
        return read_floats(unpolarized(bsdf->eval({}, hit_from(wi), wo, true))[0] / wo.z)[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendPhong)

TEST_P(BackendPhong, HasTheModelsValues) {
    Vector3 wi(0.6, 0, 0.8), mirror(-0.6, 0, 0.8), up(0, 0, 1);
    EXPECT_NEAR(f("", wi, mirror), 0.5 * InvPi + 0.2 * 32 * InvTwoPi, 1e-4);
    EXPECT_NEAR(f("<float name='exponent' value='4'/>", wi, up),
                0.5 * InvPi + 0.2 * 6 * InvTwoPi * std::pow(0.8, 4), 1e-5);
    EXPECT_NEAR(f("<float name='exponent' value='4'/>", wi, normalize(Vector3(0.9, 0, 0.1))),
                0.5 * InvPi, 1e-5)
        << "more than 90 degrees from the mirror";
}

// 0.9 and 0.6 would make energy: they become 0.6 and 0.4.
TEST_P(BackendPhong, IsScaledDownToOne) {
    Vector3 up(0, 0, 1);
    EXPECT_NEAR(f("<spectrum name='specular_reflectance' value='.9'/><spectrum "
                  "name='diffuse_reflectance' value='.6'/><float name='exponent' value='1'/>",
                  up, up),
                0.4 * InvPi + 0.6 * 3 * InvTwoPi, 1e-5);
}

} // namespace umbel
