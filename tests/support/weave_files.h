// support/weave_files.h: cloths for tests.
#pragma once
#include <string>

namespace umbel::test {

/// Staple yarns in a plain weave; asks for the colours `warp_kd` and `gloss`.
inline std::string staple_weave() {
    return R"(/* two by two squares */
weave {
  name = "plain", tileWidth = 2, tileHeight = 2,
  alpha = 0.1, beta = 2, ss = 0, hWidth = 0.9, warpArea = 2, weftArea = 2,
  pattern { 1, 2,
            3, 4 },
  yarn { type = warp, psi = -30, umax = 25, width = 1, length = 1, centerU = .25, centerV = .75,
         kd = $warp_kd, ks = $gloss },
  yarn { type = weft, psi = -30, umax = 20, width = 1, length = 1, centerU = .75, centerV = .75,
         kd = {0.3, 0.2, 0.1}, ks = $gloss },
  yarn { type = weft, psi = -30, umax = 20, width = 1, length = 1, centerU = .25, centerV = .25,
         kd = {0.3, 0.2, 0.1}, ks = $gloss },
  yarn { type = warp, psi = -30, umax = 25, width = 1, length = 1, centerU = .75, centerV = .25,
         kd = $warp_kd, ks = $gloss },
}
)";
}

/// Filaments that vary, with long warps; asks for the number `umax`.
inline std::string filament_weave() {
    return R"(weave {
  name = "long", tileWidth = 2, tileHeight = 3,
  alpha = 0.2, beta = 1.5, ss = 0.3, hWidth = 0.8, warpArea = 5, weftArea = 1,
  fineness = 2, period = 4, dWarpUmaxOverDWarp = 6, dWarpUmaxOverDWeft = -4, dWeftUmaxOverDWeft = 3,
  pattern { 1, 2, 1, 2, 1, 3 },
  yarn { type = warp, umax = $umax, kappa = 0.2, width = 1, length = 3, centerU = .25, centerV = .5,
         kd = {.2, .3, .4}, ks = {.1, .1, .1} },
  yarn { type = warp, umax = $umax, kappa = -0.5, width = 1, length = 2, centerU = .75,
         centerV = .66667, kd = {.2, .3, .4}, ks = {.1, .1, .1} },
  yarn { type = weft, umax = 30, width = 1, length = 1, centerU = .75, centerV = .16667,
         kd = {.4, .3, .2}, ks = {.1, .1, .1} }
}
)";
}

} // namespace umbel::test
