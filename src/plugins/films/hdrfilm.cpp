// hdrfilm: an image of linear radiance, for files that hold a high dynamic range.
#include "core/image_io.h"
#include "core/load_warnings.h"
#include "core/printable.h"
#include "render/colour_film.h"

namespace umbel {

class HdrFilm final : public ColourFilm {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='width' value='8'/><integer name='height' value='8'/><integer "
                  "name='crop_width' value='5'/><integer name='crop_height' value='4'/><integer "
                  "name='crop_offset_x' value='2'/><integer name='crop_offset_y' value='3'/>");
        Film::declare(p);
        declare_pixels(p, "rgb", { "luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza" });
        p.choice("file_format", m_format, "openexr", { "openexr", "exr", "rgbe", "pfm" })
            .doc("Format of files whose name does not say it");
        declare_component(p);
        p.boolean("splat", m_splats, false)
            .doc("Add each sample to all pixels that the reconstruction filter reaches: slower, "
                 "and pixels' errors are "
                 "related. If not, samples are drawn from the filter of their own pixel");
        p.boolean("compensate", m_compensate, false)
            .doc("Compensate for rounding where groups of samples are added up: for images of "
                 "many thousands of samples a pixel; twice the memory");
        bool banner = false;
        p.boolean("banner", banner, false).fixed().doc("Of old scenes; there is none");
        if (p.loading() && banner)
            warn_while_loading(fmt::format("{}: images have no banner; remove `banner`",
                                           printable(p.properties()->describe())));
    }

    bool splats() const override { return m_splats; }
    bool compensates() const override { return m_compensate; }
    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return with_extension(path, m_format == "rgbe"  ? ".hdr"
                                    : m_format == "pfm" ? ".pfm"
                                                        : ".exr");
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        std::filesystem::path file = file_name(path);
        ImageWriteOptions options;
        if (extension_of(file) == "exr")
            options.component = component();
        write_image(file, image, options);
        return file;
    }

private:
    std::string m_format;
    bool m_compensate = false, m_splats = false;
};

UMBEL_PLUGIN(Film, HdrFilm, "hdrfilm")
} // namespace umbel
