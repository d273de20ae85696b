// tests/fuzzer/coverage.cpp
#include "fuzzer/coverage.h"
#include <algorithm>
#include <bit>
#include <cstring>

extern "C" const char __executable_start;

namespace umbel::test {
namespace {

constexpr size_t Places = 1 << 18, Comparisons = 1 << 10;

// Threads write here without a lock: a count that is lost costs nothing.
uint8_t hits[Places], seen[Places];
size_t places = 0;

struct Comparison {
    uint64_t a, b;
    uint8_t bytes;
};
Comparison comparisons[Comparisons];
uint32_t next_comparison = 0;

void note_comparison(uint64_t a, uint64_t b, uint8_t bytes) {
    if (a != b)
        comparisons[next_comparison++ % Comparisons] = { a, b, bytes };
}

// 1, 2, 3, 4 to 7, 8 to 15, ... times are different things
uint8_t bucket(uint8_t count) {
    return count <= 3 ? uint8_t(1 << count >> 1)
                      : uint8_t(1 << std::min(int(std::bit_width(count)), 7));
}

bool replace(std::string &bytes, std::string_view from, std::string_view to, size_t start) {
    size_t at = bytes.find(from, start);
    if (at == bytes.npos)
        at = bytes.find(from);
    if (at == bytes.npos)
        return false;
    bytes.replace(at, from.size(), to);
    return true;
}

} // namespace

void begin_coverage() { std::memset(hits, 0, sizeof hits); }

bool end_coverage() {
    bool is_new = false;
    for (size_t i = 0; i < Places; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, hits + i, 8);
        if (eight == 0)
            continue;
        for (size_t k = i; k < i + 8; ++k) {
            uint8_t b = hits[k] ? bucket(hits[k]) : 0;
            if (b & ~seen[k]) {
                places += seen[k] == 0;
                seen[k] |= b;
                is_new = true;
            }
        }
    }
    return is_new;
}

size_t covered_places() { return places; }

void use_comparison(std::string &bytes, std::mt19937 &random) {
    size_t count = std::min<size_t>(next_comparison, Comparisons);
    for (int attempt = 0; attempt < 8 && count > 0 && !bytes.empty(); ++attempt) {
        Comparison c = comparisons[random() % count];
        if (random() % 2)
            std::swap(c.a, c.b);
        c.b += uint64_t(int64_t(random() % 3) - 1);
        size_t start = random() % bytes.size();
        char from[8], to[8];
        std::memcpy(from, &c.a, 8);
        std::memcpy(to, &c.b, 8);
        if (c.bytes >= 2 && replace(bytes, { from, c.bytes }, { to, c.bytes }, start))
            return;
        std::reverse(from, from + c.bytes);
        std::reverse(to, to + c.bytes);
        if (c.bytes >= 2 && replace(bytes, { from, c.bytes }, { to, c.bytes }, start))
            return;
        if (replace(bytes, std::to_string(c.a), std::to_string(c.b), start))
            return;
    }
}

} // namespace umbel::test

// ---- What the compiler calls

using namespace umbel::test;

extern "C" {
void __sanitizer_cov_trace_pc() {
    auto pc = uintptr_t(__builtin_return_address(0)) - uintptr_t(&__executable_start);
    uint8_t &h = hits[(pc ^ pc >> 18) % Places];
    h = uint8_t(h + (h != 255));
}
void __sanitizer_cov_trace_cmp1(uint8_t, uint8_t) {}
void __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b) { note_comparison(a, b, 2); }
void __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b) { note_comparison(a, b, 4); }
void __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b) { note_comparison(a, b, 8); }
void __sanitizer_cov_trace_const_cmp1(uint8_t, uint8_t) {}
void __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b) { note_comparison(a, b, 2); }
void __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b) { note_comparison(a, b, 4); }
void __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b) { note_comparison(a, b, 8); }
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
void __sanitizer_cov_trace_switch(uint64_t value,
                                  uint64_t *cases) { // their number, their bits, then they
    for (uint64_t i = 0; i < std::min<uint64_t>(cases[0], 16); ++i)
        note_comparison(value, cases[2 + i], uint8_t(cases[1] / 8));
}
}
