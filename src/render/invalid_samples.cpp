// render/invalid_samples.cpp: see render/invalid_samples.h.
#include "render/invalid_samples.h"
#include "core/warning.h"
#include <array>
#include <mutex>

namespace umbel {

namespace {

struct Tally {
    std::mutex mutex;
    uint64_t count = 0;
    bool is_told = false;          // one of them, at once
    std::array<uint32_t, 3> first; // sample, y, x: the least of all, whichever thread came first
} g_tally;

std::string describe(const std::array<uint32_t, 3> &s) {
    return fmt::format("sample {} of pixel ({}, {})", s[0], s[2], s[1]);
}

// Called for packets with such lanes alone.
void note(void *, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
    auto *numbers = static_cast<const uint32_t *>(frame);
    std::lock_guard lock(g_tally.mutex);
    for (uint32_t i = 0; i < lanes; ++i) {
        if (!mask[i])
            continue;
        std::array<uint32_t, 3> s = { numbers[2 * lanes + i], numbers[lanes + i], numbers[i] };
        g_tally.first = g_tally.count++ ? std::min(g_tally.first, s) : s;
        if (!std::exchange(g_tally.is_told, true))
            warn(describe(s) + " is NaN or infinite");
    }
}

} // namespace

void note_invalid_samples(const UInt32 &x, const UInt32 &y, const UInt32 &sample,
                          const Mask &invalid) {
    if (invalid.is_literal() && !invalid.literal_bits())
        return;
    const Value inputs[] = { x, y, sample };
    jit::call_host("invalid samples", note, &g_tally, inputs, {}, invalid, true);
}

void tell_invalid_samples_anew() {
    std::lock_guard lock(g_tally.mutex);
    g_tally.is_told = false;
}

void report_invalid_samples(uint32_t seed, bool skipped) {
    std::lock_guard lock(g_tally.mutex);
    g_tally.is_told = false;
    if (uint64_t n = std::exchange(g_tally.count, 0))
        warn(fmt::format("{} samples were NaN or infinite{}; the first is {}: a render of "
                         "`--crop {},{},1,1 --seed {}` meets it again",
                         n,
                         skipped ? ", and left out"
                                 : " and are part of the image (`--skip-invalid` leaves them out)",
                         describe(g_tally.first), g_tally.first[2], g_tally.first[1], seed));
}

} // namespace umbel
