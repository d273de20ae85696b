// core/image_exr_zip.h: rows of an image as OpenEXR's ZIP compression stores them, by all cores.
#pragma once
#include "core/image.h"
#include <string>
#include <vector>

namespace umbel {

/// Rows of an image that are compressed together.
constexpr size_t ExrZipRows = 16;

/// Blocks of so many rows, from the top; channels in the order of their names, as the format wants them. The bytes are those that
/// OpenEXR would write at zlib's level.
std::vector<std::string> exr_zip_blocks(const Image &image, int level);

} // namespace umbel
