// fuzz/largest_block.cpp: `new` that keeps a record. In a file of its own: inlined, it looks to the compiler as if `free` met
// memory of the usual `new`.
#include "fuzz/largest_block.h"
#include <cstdlib>
#include <new>

std::atomic<size_t> umbel::test::largest_block{ 0 };

// This one, too: the address sanitizer has its own, which would not match
void *operator new(size_t n, const std::nothrow_t &) noexcept {
    std::atomic<size_t> &largest = umbel::test::largest_block;
    size_t most = largest;
    while (n > most && !largest.compare_exchange_weak(most, n)) {
    }
    return std::malloc(n ? n : 1);
}
void *operator new(size_t n) {
    if (void *p = operator new(n, std::nothrow))
        return p;
    throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, size_t) noexcept { std::free(p); }
