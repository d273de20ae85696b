// render/invalid_samples.h: samples of pixels that are NaN or infinite: counted, and told with what it takes to see one again;
// and derivatives of samples that are none themselves.
#pragma once
#include "core/float.h"
#include <array>

namespace umbel {

/// Of one render: how many there were so far, whatever kernels have run.
struct InvalidSamples {
    static constexpr uint32_t Splat = 0xffffffff; // in place of a sample's number
    uint64_t count = 0;
    uint64_t missed =
        0; // of them: what a GPU's log had no room for, of which nothing else is known
    /// Sample, y, x: the least of all, whichever thread came first. Of light that an integrator splats, the pixel that it falls on.
    std::array<uint32_t, 3> first = {};
    bool has_first() const { return count > missed; }
};

/// The number of another render, by which they are told apart: data of its launches.
uint32_t number_for_invalid_samples();
/// Lanes of the mask have such a sample, of a pixel of the whole image. One of them is told at once.
void note_invalid_samples(const UInt32 &render, const UInt32 &x, const UInt32 &y,
                          const UInt32 &sample, const Mask &invalid);
/// Lanes of the mask have a derivative of what a sample depends on that is NaN or infinite, and is left out.
void note_invalid_derivatives(const Value &invalid);
/// Scripts that ask for arrays alone see no report: they are told once for each scene.
void tell_invalid_samples_anew();
/// Kernels under way are not waited for.
InvalidSamples invalid_samples(uint32_t render);
/// Warns if there were some since it was last called for the render; kernels under way are not waited for. `is_early`: those of
/// the render may not have run, and are told by the next call, whichever render that is of. They are skipped.
void report_invalid_samples(uint32_t render, uint32_t seed, bool skipped, bool is_early = false);

} // namespace umbel
