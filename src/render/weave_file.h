// render/weave_file.h: how a cloth is woven, as files of the BSDF `irawan` say it.
//
//     weave {
//       name = "Plain weave", tileWidth = 2, tileHeight = 2,   /* squares of the pattern that repeats */
//       alpha = 0.05, beta = 4, ss = 0, hWidth = 0.5, warpArea = 2, weftArea = 2, fineness = 0, period = 0,
//       dWarpUmaxOverDWarp = 0, dWarpUmaxOverDWeft = 0, dWeftUmaxOverDWarp = 0, dWeftUmaxOverDWeft = 0,
//       pattern { 1, 2, 3, 4 },                                /* a yarn for each square, from the top left one on */
//       yarn { type = warp, psi = 0, umax = 25, kappa = 0, width = 1, length = 1, centerU = 0.25, centerV = 0.75,
//              kd = {0.2, 0.1, 0.1}, ks = $gloss }, ...
//     }
//
// Angles are degrees. Numbers and colours may be `$name`: parameters of the BSDF. What is not said is 0.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace umbel {

/// A piece of yarn that is seen between two crossings.
struct Yarn {
    using Colour = std::variant<std::array<double, 3>, std::string>; // linear sRGB, or a parameter

    bool is_weft = false;         // else warp, which runs along v
    double psi = 0;               // twist of the fibers; 0: filaments, which are not twisted
    double umax = 0;              // inclination at the ends
    double kappa = 0;             // how the spine bends; 0: a circle's arc
    double width = 0, length = 0; // in squares of the pattern
    double u = 0, v = 0;          // the centre, in the tile; (0, 0) is bottom left
    Colour kd = std::array<double, 3>{}, ks = std::array<double, 3>{};
};

struct WeavePattern {
    std::string name;
    double alpha = 0, beta = 0;          // scattering of fibers: uniform, and forwards
    double ss = 0;                       // smoothing of filaments
    double highlight_width = 0;          // of a segment's size
    double warp_area = 0, weft_area = 0; // of a tile
    double umax_variation[2][2] = {};    // of warp and weft, along warp and weft
    double fineness = 0, period = 0;     // of intensities and of umax; 0: no variation
    int width = 0, height = 0;           // of a tile
    std::vector<uint32_t> pattern;       // yarns from 1 on, row by row from the top
    std::vector<Yarn> yarns;
};

/// `number` says what a `$name` in place of a number stands for. UserError with file, line and remedy.
WeavePattern read_weave(const std::filesystem::path &file,
                        const std::function<double(const std::string &)> &number);

} // namespace umbel
