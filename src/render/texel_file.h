// render/texel_file.h: images of the host as texels of the program. A file that several textures name is read once.
#pragma once
#include "core/image_io.h"
#include "jit/buffer.h"
#include "jit/type.h"
#include <compare>
#include <memory>
#include <optional>

namespace umbel {

/// Texels in memory: for greys a byte, a half or a float each; for colours four bytes in one number, or four halves or floats.
/// Where colours became spectra, four floats: three coefficients and the luminance.
struct Texels {
    size_t width = 0, height = 0;
    uint32_t channels = 3;              // 1 or 3
    Component storage = Component::F32; // U8, F16 or F32
    bool srgb = false, spectral = false;
    jit::Type type = jit::Type::F32; // of the array
    uint32_t count = 0;
    jit::BufferRef memory;
};

/// How an image is understood, and kept.
struct TexelOptions {
    bool raw = false;                      // numbers as they are
    bool spectral = false;                 // colours become spectra
    double gamma = 0;                      // of its encoding; -1: sRGB, 0: as the file says
    std::string channel = "";              // that one alone; empty: all
    std::optional<Component> storage = {}; // else like the image, where that is possible
    auto operator<=>(const TexelOptions &) const = default;
};

/// One channel where that is asked for, without a gamma of its own. Messages begin with `where`.
Image understood(Image image, const TexelOptions &options, const std::string &where);
Image read_understood(const std::filesystem::path &file, const TexelOptions &options);
/// As floats in linear numbers: Y, or R, G, B. UserError for what is not finite.
Image linear_floats(Image image, const std::string &where);
/// Of an image that is understood. UserError for what is not finite.
Texels make_texels(Image image, const TexelOptions &options, const std::string &where);
/// Of a file. Shared with whoever else has read it so, while it is in use and the file is the same.
std::shared_ptr<const Texels> read_texels(const std::filesystem::path &file,
                                          const TexelOptions &options);

} // namespace umbel
