// core/image_ops.h: resampling, tone mapping and comparison of images.
#pragma once
#include "core/colour.h"
#include "core/image.h"
#include <functional>
#include <optional>

namespace umbel {

/// A reconstruction filter in one dimension, even, zero beyond its radius; need not be normalized.
struct FilterFunction {
    double radius;
    std::function<double(double)> eval;
};
FilterFunction box_filter();
FilterFunction tent_filter();
/// Windowed sinc; `lobes` is its radius.
FilterFunction lanczos_filter(double lobes = 3);

/// What lies beyond the image's edge.
enum class Boundary { Clamp, Repeat, Mirror, Zero, One };

/// For each target position of a resampling along one axis: which sources, from begin[i] to begin[i + 1], count how much.
/// Taps that fall off the edge under Zero or One are collected in `rest`, the weight of the constant.
struct ResamplingTaps {
    std::vector<size_t> begin, source;
    std::vector<double> weight, rest;
};
ResamplingTaps resampling_taps(size_t from, size_t to, const FilterFunction &filter,
                               Boundary boundary);

/// The image at another size. Where it shrinks, the filter widens accordingly. Works on linear values and
/// keeps the component type and its encoding. Clamped to [minimum, maximum] where lobes would overshoot.
Image resample(const Image &image, size_t width, size_t height, const FilterFunction &filter,
               Boundary horizontal = Boundary::Clamp, Boundary vertical = Boundary::Clamp,
               double minimum = -1e300, double maximum = 1e300);

/// Reinhard's global operator: `key` is where the mean log-luminance goes, in (0, 1]; `burn` in [0, 1) how
/// much highlights may burn out [Reinhard 2002].
struct Reinhard {
    double key = 0.18, burn = 0;
    /// Statistics of other images, so that frames of an animation do not flicker.
    std::optional<double> log_average = std::nullopt, maximum = std::nullopt;
};
struct LuminanceStatistics {
    double log_average, maximum;
};
LuminanceStatistics luminance_statistics(const Image &image);

struct Tonemap {
    double multiplier = 1;
    double exposure = 0;           // in stops, on top of the multiplier
    Colour3 balance = { 1, 1, 1 }; // of the three channels
    double gamma = -1;             // negative: sRGB
    std::optional<Reinhard> reinhard = std::nullopt;
};
/// A picture of 8 bits for display, with alpha where there was some.
Image tonemap(const Image &image, const Tonemap &options);

/// The part of an image that begins at (x, y); a UserError if it is not inside.
Image crop(const Image &image, size_t x, size_t y, size_t width, size_t height);

struct ImageDifference {
    double mse = 0, rmse = 0;
    double relative_mse = 0; // mean of (a - b)^2 / (b^2 + 0.01)
    double mean_a = 0, mean_b = 0;
    double maximum = 0;  // of |a - b|
    size_t x = 0, y = 0; // where that is
    std::string channel;
    size_t not_finite =
        0; // components that are no number, or not the same infinity, on either side
};
/// Compares linear values of two images with the same size and channels, in any component types.
ImageDifference compare_images(const Image &a, const Image &b);

} // namespace umbel
