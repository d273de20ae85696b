// support/image_samples.h: images to test with.
#pragma once
#include "core/image.h"
#include "support/backend_fixture.h"
#include <random>

namespace umbel::test {

/// Components in [low, high), alpha in [0.1, 1).
inline Image random_image(uint64_t seed, size_t width, size_t height,
                          std::vector<std::string> channels, Component component, bool srgb = false,
                          double low = 0, double high = 1) {
    Image image(width, height, std::move(channels), component, srgb);
    std::mt19937_64 rng(seed);
    std::uniform_real_distribution<double> value(low, high), alpha(0.1, 1);
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x)
            for (size_t c = 0; c < image.channel_count(); ++c)
                image.set(x, y, c, is_alpha(image.channels()[c]) ? alpha(rng) : value(rng));
    return image;
}

} // namespace umbel::test
