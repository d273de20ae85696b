// tests/plugins/stratified_test.cpp: each cell of the square has its point.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendStratified : public VariantTest {};
UMBEL_VARIANTS(BackendStratified, "interp_rgb", "llvm_rgb_double")

TEST_P(BackendStratified, SamplesFillEachCellOnce) {
    Ref<Sampler> sampler =
        make_object<Sampler>(Properties("sampler", "stratified").set("sample_count", int64_t(34)));
    ASSERT_EQ(sampler->sample_count(), 36);
    SamplerState s = sampler->begin(jit::opaque(7u), UInt32(1234u), UInt32(jit::lane_index(36)));
    for (int dimension = 0; dimension < 3; ++dimension) {
        Vector2 u = sampler->next_2d(s);
        std::vector<double> x = read_floats(u.x), y = read_floats(u.y),
                            one = read_floats(sampler->next_1d(s));
        std::vector<int> cells(36), line(36);
        for (size_t i = 0; i < 36; ++i) {
            ASSERT_TRUE(x[i] >= 0 && x[i] < 1 && y[i] >= 0 && y[i] < 1 && one[i] >= 0 &&
                        one[i] < 1);
            ++cells[size_t(x[i] * 6) + 6 * size_t(y[i] * 6)];
            ++line[size_t(one[i] * 36)];
        }
        EXPECT_EQ(cells, std::vector<int>(36, 1)) << "dimension " << dimension;
        EXPECT_EQ(line, std::vector<int>(36, 1)) << "dimension " << dimension;
    }
}

} // namespace umbel
