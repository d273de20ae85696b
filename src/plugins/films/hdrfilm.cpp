// hdrfilm: an image of linear radiance, for files that hold a high dynamic range.
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
        p.boolean("compensate", m_compensate, false)
            .doc("Without effect: sums of any length keep their precision");
    }

    bool sample_border() const override { return m_sample_border; }
    bool has_alpha() const override { return m_pixels.back() == 'a'; }

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
        write_image(file, image, options);
        return file;
    }

private:
    std::string m_format, m_pixels, m_component;
    bool m_sample_border = false, m_compensate = false;
};

UMBEL_PLUGIN(Film, HdrFilm, "hdrfilm")
} // namespace umbel
