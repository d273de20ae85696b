// render/texel_wrap.h: places beyond an image, or a grid, brought into it.
#pragma once
#include "core/float.h"
#include <string_view>

namespace umbel {

/// A whole number of texels, by `mode`: mirror, repeat, or else the nearest one.
inline Float wrap_texel(std::string_view mode, const Float &i, const Float &size) {
    if (mode != "mirror" && mode != "repeat")
        return clamp(i, 0, size - 1);
    Float r = i - floor(i / size) * size;
    if (mode == "mirror") {
        Float period = 2 * size, m = i - floor(i / period) * period;
        r = select(m < size, m, period - 1 - m);
    }
    return clamp(r, 0, size - 1); // rounding
}

} // namespace umbel
