// core/image_channels.cpp: which channels an image has, what they mean, and alpha.
#include "core/colour.h"
#include "core/image.h"
#include <algorithm>

namespace umbel {

namespace {

std::string_view layer_of(std::string_view channel) {
    size_t dot = channel.rfind('.');
    return dot == channel.npos ? std::string_view() : channel.substr(0, dot);
}

std::string quoted_list(const std::vector<std::string> &names) {
    std::string out;
    for (const std::string &n : names)
        out += (out.empty() ? "\"" : ", \"") + n + "\"";
    return out;
}

/// Positions of channels by name, all or nothing.
bool find_all(const Image &image, const std::string &prefix,
              std::initializer_list<const char *> names, std::vector<int> &at) {
    at.clear();
    for (const char *n : names)
        at.push_back(image.find_channel(prefix + n));
    return std::find(at.begin(), at.end(), -1) == at.end();
}

struct Picture {
    ColourModel model;
    std::vector<int> colour; // positions of its channels
    int alpha;               // or -1
};

Picture picture_of(const Image &image) {
    for (const std::string &layer : layers(image)) {
        std::string prefix = layer.empty() ? "" : layer + ".";
        Picture p{ ColourModel::Rgb, {}, image.find_channel(prefix + "A") };
        if (find_all(image, prefix, { "R", "G", "B" }, p.colour))
            return p;
        p.model = ColourModel::Xyz;
        if (find_all(image, prefix, { "X", "Y", "Z" }, p.colour))
            return p;
        p.model = ColourModel::Y;
        if (find_all(image, prefix, { "Y" }, p.colour))
            return p;
    }
    fail("an image with the channels {} is not a picture; choose channels that become R, G, B or Y",
         quoted_list(image.channels()));
}

Image copy_channels(const Image &image, const std::vector<int> &from,
                    std::vector<std::string> names) {
    if (names == image.channels()) // each by itself
        return image;
    Image out = image.with_channels(std::move(names));
    size_t size = bytes(image.component()), n = image.channel_count();
    const uint8_t *src = image.bytes();
    uint8_t *dst = out.bytes();
    for (size_t i = 0; i < image.pixels(); ++i)
        for (int c : from)
            dst = std::copy_n(src + (i * n + size_t(c)) * size, size, dst);
    return out;
}

/// Applies f(colour, alpha) to every pixel of every layer with alpha; colours are linear.
template <class F> Image with_alpha(const Image &image, F f) {
    std::vector<std::pair<size_t, size_t>> pairs; // channel, its alpha
    for (size_t c = 0; c < image.channel_count(); ++c) {
        std::string_view layer = layer_of(image.channels()[c]);
        int a = image.find_channel(layer.empty() ? "A" : std::string(layer) + ".A");
        if (a >= 0 && size_t(a) != c)
            pairs.emplace_back(c, size_t(a));
    }
    if (pairs.empty())
        return image;
    Image out = image;
    size_t n = image.channel_count();
    std::vector<double> row(image.width() * n);
    for (size_t y = 0; y < image.height(); ++y) {
        image.read_row(y, row.data(), true);
        for (auto [c, a] : pairs)
            for (size_t x = 0; x < image.width(); ++x)
                row[x * n + c] = f(row[x * n + c], row[x * n + a]);
        out.write_row(y, row.data(), true);
    }
    return out;
}

} // namespace

Image select_channels(const Image &image, const std::vector<std::string> &channels) {
    std::vector<int> from;
    for (const std::string &c : channels) {
        from.push_back(image.find_channel(c));
        if (from.back() < 0)
            fail("the image has no channel \"{}\"; it has {}", c, quoted_list(image.channels()));
    }
    return copy_channels(image, from, channels);
}

std::vector<std::string> layers(const Image &image) {
    std::vector<std::string> out;
    for (const std::string &c : image.channels()) {
        std::string l(layer_of(c));
        if (std::find(out.begin(), out.end(), l) == out.end())
            out.push_back(l);
    }
    return out;
}

Image select_layer(const Image &image, std::string_view layer) {
    std::vector<int> from;
    std::vector<std::string> names;
    for (size_t c = 0; c < image.channel_count(); ++c) {
        const std::string &n = image.channels()[c];
        if (layer_of(n) == layer) {
            from.push_back(int(c));
            names.push_back(layer.empty() ? n : n.substr(layer.size() + 1));
        }
    }
    if (from.empty())
        fail("the image has no layer \"{}\"; it has {}", layer, quoted_list(layers(image)));
    return copy_channels(image, from, names);
}

ColourModel colour_model(const Image &image) { return picture_of(image).model; }
bool has_alpha(const Image &image) { return picture_of(image).alpha >= 0; }

Image to_model(const Image &image, ColourModel model, bool alpha) {
    Picture p = picture_of(image);
    std::vector<std::string> names = model == ColourModel::Y ? std::vector<std::string>{ "Y" }
                                     : model == ColourModel::Rgb
                                         ? std::vector<std::string>{ "R", "G", "B" }
                                         : std::vector<std::string>{ "X", "Y", "Z" };
    size_t colours = names.size(), n = image.channel_count();
    if (alpha)
        names.emplace_back("A");
    if (model == p.model && (!alpha || p.alpha >= 0)) { // nothing to compute: keep every bit
        std::vector<int> from = p.colour;
        if (alpha)
            from.push_back(p.alpha);
        return copy_channels(image, from, names);
    }
    Image out = image.with_channels(names);
    if (model == ColourModel::Xyz)
        out.set_srgb(false);
    std::vector<double> in_row(image.width() * n), out_row(image.width() * names.size());
    for (size_t y = 0; y < image.height(); ++y) {
        image.read_row(y, in_row.data(), true);
        for (size_t x = 0; x < image.width(); ++x) {
            const double *in = &in_row[x * n];
            double *o = &out_row[x * names.size()];
            Colour3 c;
            for (size_t k = 0; k < 3; ++k) // grey is R = G = B
                c[k] = in[size_t(p.colour[std::min(k, p.colour.size() - 1)])];
            if (p.model != model) {
                if (p.model == ColourModel::Xyz)
                    c = model == ColourModel::Y ? Colour3{ c[1], 0, 0 } : xyz_to_srgb(c);
                else if (model == ColourModel::Xyz)
                    c = srgb_to_xyz(c);
                else if (model == ColourModel::Y)
                    c = { luminance(c), 0, 0 };
            }
            std::copy_n(c.begin(), colours, o);
            if (alpha)
                o[colours] = p.alpha >= 0 ? in[p.alpha] : 1;
        }
        out.write_row(y, out_row.data(), true);
    }
    return out;
}

Image premultiply(const Image &image) {
    return with_alpha(image, [](double v, double a) { return v * a; });
}

Image unpremultiply(const Image &image) {
    return with_alpha(image, [](double v, double a) { return a > 0 ? v / a : 0; });
}

} // namespace umbel
