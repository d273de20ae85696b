// support/backend_fixture.h: a fresh context on each backend, for tests of the array library.
//
//     class Sorting : public umbel::test::BackendTest {};
//     TEST_P(Sorting, PutsTheSmallestFirst) { ... }
//     UMBEL_BACKENDS(Sorting)
#pragma once
#include "jit/control.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace umbel::test {

/// Tests must not see kernels of earlier runs, nor leave any behind.
inline const bool no_kernels_on_disk = setenv("UMBEL_CACHE", "", 1) == 0;

inline jit::Backend &backend_named(const std::string &name) { return jit::find_backend(name); }

/// Those that tests run on: UMBEL_TEST_BACKENDS=cuda adds one that few machines have.
inline std::vector<const char *> tested_backends() {
    std::vector<const char *> out = { "interp", "llvm" };
    if (const char *more = std::getenv("UMBEL_TEST_BACKENDS"); more && std::string(more) == "cuda")
        out.push_back("cuda");
    return out;
}

/// Each program is verified, and a test that leaves nodes behind fails: its values are gone by then.
class BackendTest : public testing::TestWithParam<const char *> {
protected:
    BackendTest() : context(backend_named(GetParam())), scope(context) {
        context.set(jit::Flag::Verify, true);
    }
    void TearDown() override {
        context.evaluate({});
        context.synchronize();
        EXPECT_EQ(context.graph.live_nodes(), 0u) << "nodes left behind";
    }

    jit::Context context;
    jit::ContextScope scope;
};

/// The message of the UserError that `f` throws; empty, with a failure, where it throws none.
template <class F> std::string user_error(F &&f) {
    try {
        f();
    } catch (const UserError &e) {
        return e.what();
    } catch (const std::exception &e) {
        ADD_FAILURE() << "not a UserError: " << e.what();
        return {};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// How often `part` occurs in `text`.
inline int occurrences(const std::string &text, const std::string &part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++n;
    return n;
}

} // namespace umbel::test

#define UMBEL_BACKENDS(suite)                                                                      \
    INSTANTIATE_TEST_SUITE_P(Backends, suite, testing::ValuesIn(umbel::test::tested_backends()),   \
                             [](auto &info) { return std::string(info.param); });
