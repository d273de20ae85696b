// support/compare.h: images that should be alike, and what moves while the shutter is open.
#pragma once
#include "support/scenes.h"

namespace umbel::test {

/// How many values of two images differ by more than a part in ten thousand.
inline size_t differences(const Image &a, const Image &b) {
    size_t n = 0;
    for (size_t y = 0; y < a.height(); ++y)
        for (size_t x = 0; x < a.width(); ++x)
            for (size_t c = 0; c < a.channel_count(); ++c)
                n += std::abs(a.get(x, y, c) - b.get(x, y, c)) >
                     1e-4 * (1 + std::abs(b.get(x, y, c)));
    return n;
}

inline void expect_same_estimate(const Image &a, const Image &b) {
    for (size_t c = 0; c < a.channel_count(); ++c) {
        double sum = 0, squares = 0, n = double(a.pixels());
        for (size_t y = 0; y < a.height(); ++y)
            for (size_t x = 0; x < a.width(); ++x) {
                double d = a.get(x, y, c) - b.get(x, y, c);
                sum += d;
                squares += d * d;
            }
        EXPECT_LT(std::abs(sum), 4 * std::sqrt(squares) + 1e-3 * n) << a.channels()[c];
    }
}

/// The camera of scene_xml with a shutter that is open from 0 to 1, and perhaps an animation in place of its transform.
inline std::string open_shutter(std::string xml, const std::string &to_world = "") {
    std::string at = "<float name='fov' value='40'/>";
    xml.insert(xml.find(at), "<float name='shutter_close' value='1'/>");
    if (!to_world.empty()) {
        size_t begin = xml.find("<transform"), end = xml.find("</transform>", begin) + 12;
        xml.replace(begin, end - begin, to_world);
    }
    return xml;
}
/// Keys at times 0 and 1.
inline std::string animation(const std::string &a, const std::string &b) {
    return "<animation name='to_world'><transform time='0'>" + a +
           "</transform><transform time='1'>" + b + "</transform></animation>";
}

/// The mean of images in which nothing moves, at times in the middle of equal parts of [0, 1].
template <class F> Image mean_over_time(int times, F &&image_at) {
    Image sum;
    for (int i = 0; i < times; ++i) {
        Image image = image_at((i + 0.5) / times, i);
        if (i == 0) {
            sum = image;
            continue;
        }
        float *to = sum.data<float>();
        const float *from = image.data<float>();
        for (size_t k = 0; k < image.pixels() * image.channel_count(); ++k)
            to[k] += from[k];
    }
    float *p = sum.data<float>();
    for (size_t k = 0; k < sum.pixels() * sum.channel_count(); ++k)
        p[k] /= float(times);
    return sum;
}

} // namespace umbel::test
