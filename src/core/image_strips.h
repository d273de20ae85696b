// core/image_strips.h: image files that are written piece by piece, larger than memory.
#pragma once
#include "core/image.h"
#include <filesystem>
#include <memory>

namespace umbel {

/// A file that takes an image in strips of whole rows, from top to bottom. It appears when it is finished, or not at all.
class ImageStrips {
public:
    virtual ~ImageStrips() = default;
    /// The next rows: whole tiles, but for the last strip.
    virtual void add(const Image &strip) = 0;
    /// After the last one.
    virtual void finish() = 0;
};

/// An OpenEXR file of square tiles.
std::shared_ptr<ImageStrips> open_exr_strips(const std::filesystem::path &path, size_t width,
                                             size_t height, const std::vector<std::string> &names,
                                             Component component, size_t tile);

} // namespace umbel
