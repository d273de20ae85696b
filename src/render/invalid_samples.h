// render/invalid_samples.h: samples of pixels that are NaN or infinite: counted, and told with what it takes to see one again.
#pragma once
#include "core/float.h"

namespace umbel {

/// Lanes of the mask have such a sample, of a pixel of the whole image. One of them is told at once.
void note_invalid_samples(const UInt32 &x, const UInt32 &y, const UInt32 &sample,
                          const Mask &invalid);
/// Scripts that ask for arrays alone see no report: they are told once for each scene.
void tell_invalid_samples_anew();
/// Warns if there were some since it was last called; kernels under way are not waited for.
void report_invalid_samples(uint32_t seed, bool skipped);

} // namespace umbel
