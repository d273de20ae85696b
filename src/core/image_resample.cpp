// core/image_resample.cpp: resampling along one axis after the other, and cropping.
#include "core/image_ops.h"
#include "core/limits.h"
#include "jit/error.h"
#include <algorithm>
#include <cmath>

namespace umbel {

FilterFunction box_filter() {
    return { 0.5, [](double x) { return std::abs(x) <= 0.5 ? 1.0 : 0.0; } };
}

FilterFunction tent_filter() {
    return { 1, [](double x) { return std::max(0.0, 1 - std::abs(x)); } };
}

FilterFunction lanczos_filter(double lobes) {
    return { lobes, [lobes](double x) {
                auto sinc = [](double t) { return t == 0 ? 1 : std::sin(t) / t; };
                constexpr double pi = 3.14159265358979323846;
                return std::abs(x) < lobes ? sinc(pi * x) * sinc(pi * x / lobes) : 0.0;
            } };
}

namespace {

/// A source position for i in (-inf, inf), or -1 for the constant beyond the edge.
int64_t wrap(int64_t i, int64_t n, Boundary b) {
    if (i >= 0 && i < n)
        return i;
    switch (b) {
    case Boundary::Clamp: return std::clamp<int64_t>(i, 0, n - 1);
    case Boundary::Repeat: return (i % n + n) % n;
    case Boundary::Mirror: {
        int64_t j = (i % (2 * n) + 2 * n) % (2 * n);
        return j < n ? j : 2 * n - 1 - j;
    }
    default: return -1;
    }
}

} // namespace

ResamplingTaps resampling_taps(size_t from, size_t to, const FilterFunction &filter,
                               Boundary boundary) {
    double step = double(from) / double(to), scale = std::max(step, 1.0);
    double radius = filter.radius * scale;
    ResamplingTaps t;
    for (size_t i = 0; i < to; ++i) {
        double centre = (double(i) + 0.5) * step, sum = 0, rest = 0;
        auto first = int64_t(std::floor(centre - radius)),
             last = int64_t(std::ceil(centre + radius));
        t.begin.push_back(t.source.size());
        for (int64_t s = first; s <= last; ++s) {
            double w = filter.eval((double(s) + 0.5 - centre) / scale);
            if (w == 0)
                continue;
            sum += w;
            int64_t j = wrap(s, int64_t(from), boundary);
            if (j < 0) {
                rest += w;
                continue;
            }
            t.source.push_back(size_t(j));
            t.weight.push_back(w);
        }
        if (sum == 0) { // a filter so narrow that it falls between samples: the nearest one
            t.source.push_back(std::min(size_t(centre), from - 1));
            t.weight.push_back(1);
            sum = 1;
        }
        for (size_t k = t.begin.back(); k < t.weight.size(); ++k)
            t.weight[k] /= sum;
        t.rest.push_back(boundary == Boundary::One ? rest / sum : 0);
    }
    t.begin.push_back(t.source.size());
    return t;
}

Image resample(const Image &image, size_t width, size_t height, const FilterFunction &filter,
               Boundary horizontal, Boundary vertical, double minimum, double maximum) {
    if (width == 0 || height == 0 || image.pixels() == 0)
        fail("resample: from {} x {} to {} x {} pixels; all sides must be positive", image.width(),
             image.height(), width, height);
    if (!(filter.radius > 0) || !filter.eval)
        fail("resample: a filter of radius {}; it must be positive", filter.radius);
    size_t n = image.channel_count();
    // First of all, as it knows whether there is as much memory
    Image result(width, height, image.channels(), image.component(), image.srgb());
    result.metadata = image.metadata;
    ask_for_memory(double(image.height()) * double(width) * double(n) * sizeof(double),
                   fmt::format("resample: to {} x {} pixels with {} channels", width, height, n));
    ResamplingTaps across = resampling_taps(image.width(), width, filter, horizontal),
                   down = resampling_taps(image.height(), height, filter, vertical);

    // Rows first: each source row is read once
    std::vector<double> row(image.width() * n), narrow(image.height() * width * n);
    for (size_t y = 0; y < image.height(); ++y) {
        image.read_row(y, row.data(), true);
        double *out = &narrow[y * width * n];
        for (size_t x = 0; x < width; ++x, out += n) {
            std::fill_n(out, n, across.rest[x]);
            for (size_t k = across.begin[x]; k < across.begin[x + 1]; ++k)
                for (size_t c = 0; c < n; ++c)
                    out[c] += across.weight[k] * row[across.source[k] * n + c];
        }
    }
    std::vector<double> sum(width * n);
    for (size_t y = 0; y < height; ++y) {
        std::fill(sum.begin(), sum.end(), down.rest[y]);
        for (size_t k = down.begin[y]; k < down.begin[y + 1]; ++k) {
            const double *in = &narrow[down.source[k] * width * n];
            for (size_t i = 0; i < sum.size(); ++i)
                sum[i] += down.weight[k] * in[i];
        }
        for (double &v : sum)
            v = std::clamp(v, minimum, maximum);
        result.write_row(y, sum.data(), true);
    }
    return result;
}

Image crop(const Image &image, size_t x, size_t y, size_t width, size_t height) {
    if (width == 0 || height == 0 || x > image.width() || y > image.height() ||
        width > image.width() - x || height > image.height() - y)
        fail("crop: {} x {} pixels at ({}, {}) are not inside an image of {} x {}", width, height,
             x, y, image.width(), image.height());
    Image out(width, height, image.channels(), image.component(), image.srgb());
    out.metadata = image.metadata;
    size_t pixel = image.channel_count() * bytes(image.component());
    for (size_t r = 0; r < height; ++r)
        std::copy_n(image.bytes() + (y + r) * image.row_bytes() + x * pixel, width * pixel,
                    out.bytes() + r * out.row_bytes());
    return out;
}

} // namespace umbel
