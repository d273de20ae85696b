// render/strips.h: images that are larger than memory.
#pragma once
#include "render/driver.h"
#include <functional>

namespace umbel {

/// Renders an image strip by strip, each of them with all of its samples, to the file that the film makes of `path`, which is
/// returned. For films with strip_rows() only. `go_on` is told how much is done, from 0 to 1; where it says no, there will be
/// no file, and an empty path. Pixels are those of a render of the whole image, to the bit.
std::filesystem::path render_strips(const Scene &scene, const RenderOptions &options,
                                    const std::filesystem::path &path,
                                    const std::function<bool(double)> &go_on);

} // namespace umbel
