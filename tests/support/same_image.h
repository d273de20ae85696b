// support/same_image.h: whether two scenes have the same image, up to noise.
#pragma once
#include "support/scenes.h"

namespace umbel::test {

// Of images of several seeds: each channel of 4 x 4 blocks of pixels, then the mean of everything.
inline std::vector<std::vector<double>> block_means(const std::string &xml, uint32_t first_seed) {
    Ref<Scene> scene = scene_from(xml);
    std::vector<std::vector<double>> out;
    for (uint32_t seed = 0; seed < 24; ++seed) {
        Image image = render_image(*scene, { .seed = first_seed + seed });
        size_t across = (image.width() + 3) / 4, down = (image.height() + 3) / 4,
               channels = image.channel_count();
        std::vector<double> means(across * down * channels + 1, 0);
        for (size_t y = 0; y < image.height(); ++y)
            for (size_t x = 0; x < image.width(); ++x)
                for (size_t c = 0; c < channels; ++c) {
                    means[(y / 4 * across + x / 4) * channels + c] += image.get(x, y, c);
                    means.back() += image.get(x, y, c);
                }
        out.push_back(means);
    }
    return out;
}

// Student's t of each: with 23 degrees of freedom a side, 5 is passed once in some 40,000 numbers.
inline void expect_same_image(const std::string &a_xml, const std::string &b_xml) {
    auto a = block_means(a_xml, 0), b = block_means(b_xml, 1000);
    double n = double(a.size()), sum_t2 = 0, cells = 0;
    for (size_t i = 0; i < a[0].size(); ++i) {
        auto moments = [&](auto &images) {
            double sum = 0, squares = 0;
            for (auto &image : images)
                sum += image[i], squares += image[i] * image[i];
            return std::pair(sum / n, std::max(0.0, squares / n - sum / n * sum / n) / (n - 1));
        };
        auto [mean_a, error_a] = moments(a);
        auto [mean_b, error_b] = moments(b);
        ASSERT_GT(mean_a, 0);
        double t = (mean_b - mean_a) / std::sqrt(error_a + error_b);
        EXPECT_LT(std::abs(t), 5) << "number " << i << ": " << mean_a << " and " << mean_b;
        sum_t2 += t * t;
        ++cells;
    }
    EXPECT_LT(sum_t2 / cells, 2) << "channels of a block are related; else 1.1 would be the mean";
}

} // namespace umbel::test
