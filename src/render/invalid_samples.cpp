// render/invalid_samples.cpp: see render/invalid_samples.h.
#include "render/invalid_samples.h"
#include "core/warning.h"
#include "jit/launch_log.h"
#include <array>
#include <mutex>

namespace umbel {

namespace {

struct Tally {
    std::mutex mutex;
    uint64_t count = 0;            // all of them
    uint64_t missed = 0;           // those of which nothing else is known
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
        g_tally.first = g_tally.count++ > g_tally.missed ? std::min(g_tally.first, s) : s;
        if (!std::exchange(g_tally.is_told, true))
            warn(describe(s) + " is NaN or infinite");
    }
}

// What a GPU's log had no room for.
void note_missed(uint64_t count) {
    std::lock_guard lock(g_tally.mutex);
    g_tally.count += count;
    g_tally.missed += count;
}

} // namespace

void note_invalid_samples(const UInt32 &x, const UInt32 &y, const UInt32 &sample,
                          const Mask &invalid) {
    if (invalid.is_literal() && !invalid.literal_bits())
        return;
    jit::allow_missed_calls("invalid samples", note_missed);
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
    uint64_t n = std::exchange(g_tally.count, 0), missed = std::exchange(g_tally.missed, 0);
    if (!n)
        return;
    std::string text = fmt::format(
        "{} samples were NaN or infinite{}", n,
        skipped ? ", and left out"
                : " and are part of the image (`--skip-invalid` leaves them out)");
    if (n > missed)
        text += fmt::format("; {} is {}: a render of `--crop {},{},1,1 --seed {}` meets it again",
                            missed ? "one of them" : "the first", describe(g_tally.first),
                            g_tally.first[2], g_tally.first[1], seed);
    warn(text);
}

} // namespace umbel
