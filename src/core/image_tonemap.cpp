// core/image_tonemap.cpp: tone mapping, and the comparison of images.
#include "core/image_ops.h"
#include "jit/error.h"
#include <algorithm>
#include <cmath>

namespace umbel {

LuminanceStatistics luminance_statistics(const Image &image) {
    Image y = to_model(image, ColourModel::Y, false);
    std::vector<double> row(y.width());
    double sum = 0, maximum = 0;
    size_t count = 0;
    for (size_t r = 0; r < y.height(); ++r) {
        y.read_row(r, row.data(), true);
        for (double v : row)
            if (std::isfinite(v)) { // one bad pixel must not spoil the picture
                sum += std::log(1e-3 + std::max(v, 0.0));
                maximum = std::max(maximum, v);
                ++count;
            }
    }
    return { std::exp(sum / double(std::max<size_t>(count, 1))), maximum };
}

Image tonemap(const Image &image, const Tonemap &o) {
    if (o.reinhard && (!(o.reinhard->key > 0 && o.reinhard->key <= 1) ||
                       !(o.reinhard->burn >= 0 && o.reinhard->burn <= 1)))
        fail("tonemap: key {} and burn {}; they must be in (0, 1] and [0, 1]", o.reinhard->key,
             o.reinhard->burn);
    if (o.gamma == 0)
        fail("tonemap: a gamma of 0; it must be positive, or negative for sRGB");
    bool alpha = has_alpha(image);
    Image picture = to_model(image, ColourModel::Rgb, alpha);
    size_t n = picture.channel_count();
    Image out(picture.width(), picture.height(), picture.channels(), Component::U8, true);
    out.metadata = picture.metadata;

    // Lp = Y key / average; the smallest luminance that becomes white is the maximum, less with burn.
    // Its fourth power makes the knob behave evenly.
    double factor = o.multiplier * std::exp2(o.exposure), scale = 1, inverse_white_2 = 0;
    if (o.reinhard) {
        LuminanceStatistics s{ 1, 1 };
        if (!o.reinhard->log_average || !o.reinhard->maximum)
            s = luminance_statistics(picture);
        scale = o.reinhard->key / o.reinhard->log_average.value_or(s.log_average);
        double white = o.reinhard->maximum.value_or(s.maximum) * scale;
        double burn = std::pow(std::max(1 - o.reinhard->burn, 1e-3), 4);
        inverse_white_2 = white > 0 ? 1 / (white * white * burn) : 0;
    }
    std::vector<double> row(picture.width() * n);
    for (size_t y = 0; y < picture.height(); ++y) {
        picture.read_row(y, row.data(), true);
        for (size_t x = 0; x < picture.width(); ++x) {
            double *p = &row[x * n], gain = factor;
            if (o.reinhard) {
                double lp = scale * std::max(0.0, luminance({ p[0], p[1], p[2] }));
                gain *= scale * (1 + lp * inverse_white_2) / (1 + lp);
            }
            for (size_t c = 0; c < 3; ++c) {
                double v = p[c] * gain * o.balance[c];
                p[c] = o.gamma < 0 ? srgb_encode(v) : v > 0 ? std::pow(v, 1 / o.gamma) : 0;
            }
        }
        out.write_row(y, row.data(), false);
    }
    return out;
}

ImageDifference compare_images(const Image &a, const Image &b) {
    if (a.width() != b.width() || a.height() != b.height())
        fail("compare: images of {} x {} and {} x {} pixels; they must have the same size",
             a.width(), a.height(), b.width(), b.height());
    if (a.pixels() == 0 || a.channel_count() == 0)
        fail("compare: the images have no pixels");
    // The same channels, maybe in another order
    bool same = a.channel_count() == b.channel_count();
    for (const std::string &c : a.channels())
        same = same && b.find_channel(c) >= 0;
    if (!same)
        fail("compare: one image has {} channels, the other {}, or they have other names; choose "
             "those "
             "that both have",
             a.channel_count(), b.channel_count());
    Image ordered;
    const Image *other = &b;
    if (a.channels() != b.channels())
        other = &(ordered = select_channels(b, a.channels()));

    ImageDifference d;
    size_t n = a.channel_count(), count = 0;
    std::vector<double> ra(a.width() * n), rb(a.width() * n);
    for (size_t y = 0; y < a.height(); ++y) {
        a.read_row(y, ra.data(), true);
        other->read_row(y, rb.data(), true);
        for (size_t i = 0; i < ra.size(); ++i) {
            double u = ra[i], v = rb[i];
            if (!std::isfinite(u) || !std::isfinite(v)) {
                d.not_finite += !(u == v);
                continue;
            }
            double diff = u - v, square = diff * diff;
            ++count;
            d.mse += square;
            d.relative_mse += square / (v * v + 0.01);
            d.mean_a += u;
            d.mean_b += v;
            if (std::abs(diff) > d.maximum) {
                d.maximum = std::abs(diff);
                d.x = i / n;
                d.y = y;
                d.channel = a.channels()[i % n];
            }
        }
    }
    double scale = 1 / double(std::max<size_t>(count, 1));
    for (double *v : { &d.mse, &d.relative_mse, &d.mean_a, &d.mean_b })
        *v *= scale;
    d.rmse = std::sqrt(d.mse);
    return d;
}

} // namespace umbel
