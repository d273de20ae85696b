// support/variant_fixture.h: tests of traced rendering code, once for each of some variants.
//
//     class BackendWarps : public umbel::test::VariantTest {};
//     UMBEL_VARIANTS(BackendWarps, "interp_rgb", "llvm_rgb_double")
//     TEST_P(BackendWarps, ...) { ... }
#pragma once
#include "core/float.h"
#include "support/backend_fixture.h"
#include "support/chi2.h"

namespace umbel::test {

class VariantTest : public testing::TestWithParam<const char *> {
protected:
    VariantTest() : scope(find_variant(GetParam())) {
        variant().context().set(jit::Flag::Verify, true);
        m_nodes = variant().context().graph.live_nodes();
    }
    void TearDown() override {
        variant().context().evaluate({});
        variant().context().synchronize();
        EXPECT_EQ(variant().context().graph.live_nodes(), m_nodes) << "nodes left behind";
    }

    VariantScope scope;

private:
    size_t m_nodes = 0;
};

} // namespace umbel::test

#define UMBEL_VARIANTS(suite, ...)                                                                 \
    INSTANTIATE_TEST_SUITE_P(Variants, suite, testing::Values(__VA_ARGS__),                        \
                             [](auto &info) { return std::string(info.param); });
