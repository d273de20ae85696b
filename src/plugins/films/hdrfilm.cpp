// hdrfilm: an image of linear radiance, for files that hold a high dynamic range.
#include "core/colour.h"
#include "core/image_io.h"
#include "render/film.h"
#include <algorithm>

namespace umbel {

class HdrFilm final : public Film {
public:
    void declare(Params &p) override {
        Film::declare(p);
        p.choice("file_format", m_format, "openexr", { "openexr", "exr", "rgbe", "pfm" })
            .doc("Format of files whose name does not say it");
        p.choice("pixel_format", m_pixels, "rgb",
                 { "luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza" })
            .doc("Channels that are written");
        p.choice("component_format", m_component, "float16", { "float16", "float32", "uint32" })
            .doc("How OpenEXR files store a channel");
        p.boolean("sample_border", m_sample_border, false)
            .doc("Pixels at the border see what lies beyond it; if not, the filter ends there");
        p.boolean("splat", m_splats, false)
            .doc("Add each sample to all pixels that the reconstruction filter reaches: slower, "
                 "and pixels' errors are "
                 "related. If not, samples are drawn from the filter of their own pixel");
        p.boolean("compensate", m_compensate, false)
            .doc("Taken for compatibility: groups of samples are always summed apart");
    }

    bool sample_border() const override { return m_sample_border; }
    bool splats() const override { return m_splats; }
    bool has_alpha() const override { return m_pixels.back() == 'a'; }
    const char *pixel_format() const override { return m_pixels.c_str(); }

    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        std::filesystem::path file = path;
        std::string extension = file.extension().string();
        std::vector<std::string> known = image_extensions();
        if (extension.empty() ||
            std::find(known.begin(), known.end(), extension.substr(1)) == known.end()) {
            extension = m_format == "rgbe" ? ".hdr" : m_format == "pfm" ? ".pfm" : ".exr";
            file += extension;
        }
        ImageWriteOptions options;
        if (extension == ".exr")
            options.component = m_component == "float32"  ? Component::F32
                                : m_component == "uint32" ? Component::U32
                                                          : Component::F16;
        write_image(file, in_pixel_format(image), options);
        return file;
    }

private:
    /// Colours become what `pixel_format` says; alpha and further channels stay.
    Image in_pixel_format(const Image &image) const {
        bool luminance_only = m_pixels.starts_with("luminance"), xyz = m_pixels.starts_with("xyz");
        if (image.find_channel("R") != 0 || (!luminance_only && !xyz))
            return image;
        std::vector<std::string> names = luminance_only ? std::vector<std::string>{ "Y" }
                                                        : std::vector<std::string>{ "X", "Y", "Z" };
        size_t colours = names.size(), further = image.channel_count() - 3;
        names.insert(names.end(), image.channels().begin() + 3, image.channels().end());
        Image out = image.with_channels(names);
        std::vector<double> from(image.width() * image.channel_count()),
            to(out.width() * names.size());
        for (size_t y = 0; y < image.height(); ++y) {
            image.read_row(y, from.data());
            for (size_t x = 0; x < image.width(); ++x) {
                const double *f = &from[x * (3 + further)];
                double *t = &to[x * (colours + further)];
                Colour3 c = srgb_to_xyz({ f[0], f[1], f[2] });
                if (luminance_only)
                    t[0] = c[1];
                else
                    std::copy(c.begin(), c.end(), t);
                std::copy(f + 3, f + 3 + further, t + colours);
            }
            out.write_row(y, to.data());
        }
        return out;
    }

    std::string m_format, m_pixels, m_component;
    bool m_sample_border = false, m_compensate = false, m_splats = false;
};

UMBEL_PLUGIN(Film, HdrFilm, "hdrfilm")
} // namespace umbel
