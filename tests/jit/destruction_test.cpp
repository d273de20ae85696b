// tests/jit/destruction_test.cpp: giving values up needs no memory, as destructors could not say that there is none.
#include "support/backend_fixture.h"
#include <cstdlib>
#include <new>

using namespace umbel;
using namespace umbel::jit;

static thread_local bool t_no_memory = false;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which have their own
[[gnu::noinline]] void *operator new(size_t bytes) {
    void *p = t_no_memory ? nullptr : std::malloc(bytes ? bytes : 1);
    if (!p)
        throw std::bad_alloc();
    return p;
}
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, size_t) noexcept { std::free(p); }
#endif

namespace {

class DestructionTest : public test::BackendTest {};

TEST_P(DestructionTest, OfManyValuesAtOnceNeedsNoMemory) {
    FlagScope recorded(Flag::FlattenIfs, false);
    std::vector<Value> values;
    values.reserve(20'000);
    for (uint32_t i = 0; i < 5000; ++i) {
        Float32 a = copy(std::vector<float>{ float(i), 1 }), b = sin(a) * float(i);
        values.push_back(a);
        values.push_back(b);
        if (i % 10 == 0)
            values.push_back(
                if_(b > 0.f, [&] { return Float32(b + a); }, [&] { return Float32(b * a); }));
    }
    Float32 chain = copy(std::vector<float>{ 1, 2 });
    for (int i = 0; i < 50'000; ++i)
        chain = chain + float(i);
    t_no_memory = true;
    values.clear();
    chain = Float32();
    t_no_memory = false;
}

UMBEL_BACKENDS(DestructionTest)

} // namespace
