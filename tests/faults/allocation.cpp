// tests/faults/allocation.cpp: `new`, `aligned_alloc` and `mmap` that count. The linker is told to route the latter two here.
#include "faults/allocation.h"
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace {

std::atomic<uint64_t> counted{ 0 }, failing{ 0 };

// Where code lies that must cope: the program's, and the standard library's, which works for it.
struct Range {
    uintptr_t first = 0, last = 0;
};
Range own[8];
int own_count = 0;

bool is_own(void *caller) {
    for (int i = 0; i < own_count; ++i)
        if (uintptr_t(caller) - own[i].first < own[i].last - own[i].first)
            return true;
    return false;
}

bool fails(void *caller) {
    if (!is_own(caller))
        return false;
    uint64_t k = failing.load(std::memory_order_relaxed);
    bool now = counted.fetch_add(1, std::memory_order_relaxed) + 1 == k;
    if (now && std::getenv("UMBEL_FAULTS_STOP"))
        std::abort(); // for a debugger
    return now;
}

void *take(size_t n, size_t alignment, void *caller) noexcept {
    if (fails(caller))
        return nullptr;
    if (alignment <= alignof(std::max_align_t))
        return std::malloc(n ? n : 1);
    void *p = nullptr;
    return posix_memalign(&p, alignment, n ? n : 1) ? nullptr : p;
}

void *take_or_throw(size_t n, size_t alignment, void *caller) {
    if (void *p = take(n, alignment, caller))
        return p;
    throw std::bad_alloc();
}

} // namespace

void umbel::test::find_own_code() {
    FILE *f = std::fopen("/proc/self/maps", "r");
    char line[1000], self[1000] = "";
    unsigned long first = 0, last = 0;
    while (f && std::fgets(line, sizeof line, f)) {
        char path[1000] = "", rights[8] = "";
        if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %999s", &first, &last, rights, path) < 3)
            continue;
        if (!*self)
            std::strcpy(self, path); // the program comes first
        if (rights[2] == 'x' && (!std::strcmp(path, self) || std::strstr(path, "/libstdc++")) &&
            own_count < 8)
            own[own_count++] = { first, last };
    }
    if (f)
        std::fclose(f);
}

void umbel::test::fail_allocation(uint64_t k) {
    counted = 0;
    failing = k;
}

uint64_t umbel::test::allocations() { return counted; }

// ---- What all code calls

#define CALLER __builtin_return_address(0)

void *operator new(size_t n) { return take_or_throw(n, 1, CALLER); }
void *operator new[](size_t n) { return take_or_throw(n, 1, CALLER); }
void *operator new(size_t n, std::align_val_t a) { return take_or_throw(n, size_t(a), CALLER); }
void *operator new[](size_t n, std::align_val_t a) { return take_or_throw(n, size_t(a), CALLER); }
void *operator new(size_t n, const std::nothrow_t &) noexcept { return take(n, 1, CALLER); }
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return take(n, 1, CALLER); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, size_t) noexcept { std::free(p); }
void operator delete[](void *p, size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" {
void *__real_aligned_alloc(size_t alignment, size_t n);
void *__real_mmap(void *at, size_t n, int rights, int flags, int file, off_t offset);

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
    return fails(CALLER) ? nullptr : __real_aligned_alloc(alignment, n);
}
void *__wrap_mmap(void *at, size_t n, int rights, int flags, int file, off_t offset) {
    if (fails(CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, n, rights, flags, file, offset);
}
}
