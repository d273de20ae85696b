// support/variant_fixture.h: tests of traced rendering code, once for each of some variants.
//
//     class BackendWarps : public umbel::test::VariantTest {};
//     UMBEL_VARIANTS(BackendWarps, "interp_rgb", "llvm_rgb_double")
//     TEST_P(BackendWarps, ...) { ... }
//
// With UMBEL_TEST_BACKENDS=cuda, also for those of these variants that a GPU computes: the names of such tests end in cuda_...
#pragma once
#include "core/float.h"
#include "support/backend_fixture.h"
#include "support/chi2.h"
#include <cstring>
#include <set>
#include <vector>

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

/// Those of the list, and the same ones on backends that few machines have: see tested_backends.
inline std::vector<const char *> tested_variants(std::initializer_list<const char *> list) {
    static auto *names = new std::set<std::string>; // GoogleTest keeps what points to them
    std::vector<const char *> out = list;
    for (std::string backend : tested_backends()) {
        if (backend == "interp" || backend == "llvm")
            continue;
        std::set<std::string> added;
        for (const char *name : list)
            added.insert(backend + std::strchr(name, '_'));
        for (const std::string &name : added)
            out.push_back(names->insert(name).first->c_str());
    }
    return out;
}

} // namespace umbel::test

#define UMBEL_VARIANTS(suite, ...)                                                                 \
    INSTANTIATE_TEST_SUITE_P(Variants, suite,                                                      \
                             testing::ValuesIn(umbel::test::tested_variants({ __VA_ARGS__ })),     \
                             [](auto &info) { return std::string(info.param); });
