// hdrfilm: an image of linear radiance, for files that hold a high dynamic range.
#include "core/colour.h"
#include "core/image_io.h"
#include "render/film.h"
#include <algorithm>

namespace umbel {

class HdrFilm final : public Film {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='width' value='8'/><integer name='height' value='8'/><integer "
                  "name='crop_width' value='5'/><integer name='crop_height' value='4'/><integer "
                  "name='crop_offset_x' value='2'/><integer name='crop_offset_y' value='3'/>");
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
            .doc("Compensate for rounding where groups of samples are added up: for images of "
                 "many thousands of samples a pixel; twice the memory");
    }

    bool sample_border() const override { return m_sample_border; }
    bool splats() const override { return m_splats; }
    bool compensates() const override { return m_compensate; }
    bool has_alpha() const override { return m_pixels.back() == 'a'; }

    std::vector<std::string> image_names(const std::vector<std::string> &collected) const override {
        std::vector<std::string> names = collected;
        if (is_luminance()) {
            names.erase(names.begin(), names.begin() + 2);
            names[0] = "Y";
        } else if (is_xyz())
            std::copy_n(std::array{ "X", "Y", "Z" }.begin(), 3, names.begin());
        return names;
    }
    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return with_extension(path, m_format == "rgbe"  ? ".hdr"
                                    : m_format == "pfm" ? ".pfm"
                                                        : ".exr");
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        std::filesystem::path file = file_name(path);
        ImageWriteOptions options;
        if (file.extension() == ".exr")
            options.component = m_component == "float32"  ? Component::F32
                                : m_component == "uint32" ? Component::U32
                                                          : Component::F16;
        write_image(file, image, options);
        return file;
    }

private:
    // In monochromatic variants, there is nothing to convert.
    bool is_luminance() const { return !is_mono() && m_pixels.starts_with("luminance"); }
    bool is_xyz() const { return !is_mono() && m_pixels.starts_with("xyz"); }
    static bool is_mono() { return variant().colour == Colour::Mono; }

    std::vector<Float> develop_pixel(std::vector<Float> in) const override {
        if (!is_luminance() && !is_xyz())
            return in;
        const ColourMatrix &m = srgb_to_xyz_matrix();
        std::vector<Float> out;
        for (size_t row = is_xyz() ? 0 : 1; row < (is_xyz() ? 3u : 2u); ++row)
            out.push_back(in[0] * m[row][0] + in[1] * m[row][1] + in[2] * m[row][2]);
        out.insert(out.end(), in.begin() + 3, in.end());
        return out;
    }

    std::string m_format, m_pixels, m_component;
    bool m_sample_border = false, m_compensate = false, m_splats = false;
};

UMBEL_PLUGIN(Film, HdrFilm, "hdrfilm")
} // namespace umbel
