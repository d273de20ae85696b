// render/invalid_samples.cpp: see render/invalid_samples.h.
#include "render/invalid_samples.h"
#include "core/warning.h"
#include "jit/launch_log.h"
#include <map>
#include <mutex>
#include <vector>

namespace umbel {

namespace {

// Kernels may run when the render that they belong to is gone: so those that had any are kept, up to a number.
struct Tallies {
    static constexpr size_t Most = 1024;
    struct Tally {
        InvalidSamples all, untold;
    };
    std::mutex mutex;
    std::map<uint32_t, Tally> of; // renders, by their numbers
    uint32_t next = 0;
    uint32_t latest = 0;  // whose missed ones are counted
    bool is_told = false; // one of them, at once
    std::vector<std::pair<uint32_t, uint32_t>>
        early; // renders and seeds, reported before their kernels had run
    bool derivative_is_told = false;

    // Needs the lock.
    Tally &at(uint32_t render) {
        Tally &tally = of[render];
        if (of.size() > Most)
            of.erase(of.begin()->first == render ? std::next(of.begin()) : of.begin());
        return tally;
    }
} g_tallies;

std::string describe(const std::array<uint32_t, 3> &s) {
    if (s[0] == InvalidSamples::Splat)
        return fmt::format("light that falls on pixel ({}, {})", s[2], s[1]);
    return fmt::format("sample {} of pixel ({}, {})", s[0], s[2], s[1]);
}

// Called for packets with such lanes alone.
void note(void *, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
    auto *numbers = static_cast<const uint32_t *>(frame);
    std::lock_guard lock(g_tallies.mutex);
    for (uint32_t i = 0; i < lanes; ++i) {
        if (!mask[i])
            continue;
        std::array<uint32_t, 3> s = { numbers[2 * lanes + i], numbers[lanes + i], numbers[i] };
        g_tallies.latest = numbers[3 * lanes + i];
        Tallies::Tally &tally = g_tallies.at(g_tallies.latest);
        for (InvalidSamples *t : { &tally.all, &tally.untold })
            t->first = t->count++ > t->missed ? std::min(t->first, s) : s;
        if (!std::exchange(g_tallies.is_told, true))
            warn(describe(s) + " is NaN or infinite");
    }
}

// What a GPU's log had no room for.
void note_missed(uint64_t count) {
    std::lock_guard lock(g_tallies.mutex);
    Tallies::Tally &tally = g_tallies.at(g_tallies.latest);
    for (InvalidSamples *t : { &tally.all, &tally.untold }) {
        t->count += count;
        t->missed += count;
    }
}

// How many there are says little: a sample has one for each sum that it is part of.
void tell_derivatives(uint64_t) {
    std::lock_guard lock(g_tallies.mutex);
    if (!std::exchange(g_tallies.derivative_is_told, true))
        warn("a derivative of a sample that is finite is NaN or infinite, and left out of "
             "gradients");
}

void note_derivatives(void *, uint64_t, uint32_t, const int32_t *, void *) { tell_derivatives(1); }

} // namespace

uint32_t number_for_invalid_samples() {
    std::lock_guard lock(g_tallies.mutex);
    return g_tallies.latest = g_tallies.next++;
}

void note_invalid_samples(const UInt32 &render, const UInt32 &x, const UInt32 &y,
                          const UInt32 &sample, const Mask &invalid) {
    if (invalid.is_literal() && !invalid.literal_bits())
        return;
    jit::allow_missed_calls("invalid samples", note_missed);
    const Value inputs[] = { x, y, sample, render };
    jit::call_host("invalid samples", note, &g_tallies, inputs, {}, invalid, true);
}

void note_invalid_derivatives(const Value &invalid) {
    if (invalid.is_literal() && !invalid.literal_bits())
        return;
    jit::allow_missed_calls("invalid derivatives", tell_derivatives);
    jit::call_host("invalid derivatives", note_derivatives, &g_tallies, {}, {}, invalid, true);
}

void tell_invalid_samples_anew() {
    std::lock_guard lock(g_tallies.mutex);
    g_tallies.is_told = g_tallies.derivative_is_told = false;
}

InvalidSamples invalid_samples(uint32_t render) {
    std::lock_guard lock(g_tallies.mutex);
    auto found = g_tallies.of.find(render);
    return found == g_tallies.of.end() ? InvalidSamples() : found->second.all;
}

// Needs the lock.
static void tell(uint32_t render, uint32_t seed, bool skipped) {
    auto found = g_tallies.of.find(render);
    if (found == g_tallies.of.end())
        return;
    InvalidSamples some = std::exchange(found->second.untold, {});
    if (some.count == 0)
        return;
    std::string text =
        fmt::format("{} samples were NaN or infinite{}", some.count,
                    skipped ? ", and left out"
                            : " and are part of the image (`--skip-invalid` leaves them out)");
    if (some.has_first())
        text += fmt::format("; {} is {}", some.missed ? "one of them" : "the first",
                            describe(some.first));
    if (some.has_first() &&
        some.first[0] != InvalidSamples::Splat) // paths of light are those of the whole image
        text += fmt::format(": a render of `--crop {},{},1,1 --seed {}` meets it again",
                            some.first[2], some.first[1], seed);
    warn(text);
}

void report_invalid_samples(uint32_t render, uint32_t seed, bool skipped, bool is_early) {
    std::lock_guard lock(g_tallies.mutex);
    g_tallies.is_told = g_tallies.derivative_is_told = false;
    for (auto [earlier, its_seed] : std::exchange(g_tallies.early, {}))
        tell(earlier, its_seed, true);
    tell(render, seed, skipped);
    if (is_early)
        g_tallies.early.emplace_back(render, seed);
}

} // namespace umbel
