// tests/plugins/constvolume_test.cpp: volumes that are the same everywhere.
#include "support/media.h"

namespace umbel {
using namespace test;

class BackendConstVolume : public VariantTest {
protected:
    static Interaction somewhere() {
        Interaction it{ Float(1), Vector3(3, -2, 5), Vector3(Float(0)), Float(0), {} };
        it.wavelengths = ray_from(0, 1).wavelengths;
        return it;
    }
};
UMBEL_VARIANTS(BackendConstVolume, "llvm_rgb", "interp_mono_double", "llvm_spectral")

TEST_P(BackendConstVolume, IsItsValue) {
    auto v = make_object<Volume>(Properties("volume", "constvolume").set("value", 2.5));
    for (const Float &c : v->eval(somewhere(), true).c)
        EXPECT_EQ(read_floats(c)[0], 2.5);
    EXPECT_EQ(read_floats(v->eval_1(somewhere(), true))[0], 2.5);
    EXPECT_EQ(read_floats(v->eval_gradient(somewhere(), true).second.y)[0], 0);
    EXPECT_EQ(v->max_value(), 2.5);
    EXPECT_FALSE(v->is_spatially_varying());
    EXPECT_EQ(v->resolution(), (std::array<size_t, 3>{ 1, 1, 1 }));
    auto one = make_object<Volume>(Properties("volume", "constvolume"));
    EXPECT_EQ(one->max_value(), 1);
    EXPECT_EQ(one->bounds().max, (std::array<double, 3>{ 1, 1, 1 }));
}

TEST_P(BackendConstVolume, MayBeAVector) {
    auto v = make_object<Volume>(
        Properties("volume", "constvolume").set("value", VectorData{ 1, -2, 0.5 }));
    EXPECT_EQ(v->channel_count(), 3u);
    std::vector<double> numbers;
    for (const Float &n : v->eval_n(somewhere(), true))
        numbers.push_back(read_floats(n)[0]);
    EXPECT_EQ(numbers, (std::vector<double>{ 1, -2, 0.5 }));
    EXPECT_EQ(v->max_per_channel(), numbers);
    EXPECT_THROW(v->eval(somewhere(), true), UserError);
}

TEST_P(BackendConstVolume, StandsWhereToWorldPutsIt) {
    auto v = make_object<Volume>(
        Properties("volume", "constvolume").set("to_world", TransformData::scale({ 2, 3, 4 })));
    EXPECT_EQ(v->bounds().max, (std::array<double, 3>{ 2, 3, 4 }));
}

TEST(ConstVolume, RefusesTexturesOfSurfaces) {
    VariantScope scope(find_variant("llvm_rgb"));
    Properties p("volume", "constvolume");
    p.set("value", Properties("texture", "checkerboard"));
    EXPECT_THROW(make_object<Volume>(std::move(p)), UserError);
}

} // namespace umbel
