// render/image_block.h: parts of an image whose samples lie anywhere, added through a reconstruction filter.
//
// A FilmBuffer knows which samples its pixels have, and gathers; to a block, samples are scattered, and derivatives pass
// through that.
#pragma once
#include "render/filter.h"

namespace umbel {

/// How pixels lie in an array, row by row with a border around them, and how samples reach them.
struct ImageBlock {
    int x = 0, y = 0; // of the first pixel inside the border, in the image
    int width = 0, height = 0;
    int border = 0;
    uint32_t channels = 0;
    Ref<const Filter> filter; // null: a sample belongs to the pixel in which it lies
    bool normalize = false;   // whether the weights of a sample add up to 1

    int full_width() const { return width + 2 * border; }
    int full_height() const { return height + 2 * border; }

    /// `pixels` and the samples at these positions of the image.
    Float put(const Float &pixels, const Vector2 &position, const std::vector<Float> &sample,
              const Mask &active) const;
    /// Pixels around positions, weighted by the filter: a value for each channel.
    std::vector<Float> read(const Float &pixels, const Vector2 &position, const Mask &active) const;
    /// The sum of two blocks, as far as the other reaches into this one.
    Float add(const Float &pixels, const ImageBlock &other, const Float &others) const;
    /// Some of the channels, each over the one that holds weights.
    Float means(const Float &pixels, const std::vector<uint32_t> &kept,
                uint32_t weight_channel) const;

private:
    struct Tap {
        UInt32 index; // of the pixel's first channel
        Float weight;
        Mask inside;
    };
    /// The pixels that the filter reaches.
    std::vector<Tap> taps(const Vector2 &position, const Mask &active) const;
    Tap tap(const Int32 &column, const Int32 &row, Float weight, const Mask &active) const;
};

} // namespace umbel
