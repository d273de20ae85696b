// ldrfilm: a picture of 8 bits for display, tone-mapped as it is written.
//
// The image itself, as scripts see it, holds linear radiance. The method `gamma` multiplies it by 2^exposure; `reinhard` maps
// all luminances to what can be shown [Reinhard 2002]. Both end with the curve of sRGB, or with an exponent.
#include "core/image_io.h"
#include "core/image_ops.h"
#include "core/load_warnings.h"
#include "core/printable.h"
#include "render/colour_film.h"

namespace umbel {

class LdrFilm final : public ColourFilm {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<string name='pixel_format' value='luminance_alpha'/><string "
                  "name='tonemap_method' value='reinhard'/>");
        Film::declare(p);
        declare_pixels(p, "rgb", { "luminance", "luminance_alpha", "rgb", "rgba" });
        p.choice("file_format", m_format, "png", { "png", "jpeg" })
            .doc("Format of files whose name does not say it");
        p.choice("tonemap_method", m_method, "gamma", { "gamma", "reinhard" })
            .doc("How radiance becomes a picture");
        p.number("gamma", m_gamma, -1).doc("Exponent of the encoding, such as 2.2; -1: sRGB");
        p.number("exposure", m_exposure, 0).doc("In stops, with `gamma`");
        p.number("key", m_key, 0.18, 0, 1)
            .doc("With `reinhard`: how bright the picture is, from 0 (excluded) to 1");
        p.number("burn", m_burn, 0, 0, 1)
            .doc("With `reinhard`: how much highlights may burn out, from 0 to 1");
        bool banner = false;
        p.boolean("banner", banner, false).fixed().doc("Of old scenes; there is none");
        if (p.loading() && banner)
            warn_while_loading(fmt::format("{}: pictures have no banner; remove `banner`",
                                           printable(p.properties()->describe())));
    }
    void configure() override {
        if (!(m_gamma < 0 || m_gamma > 0))
            complain("gamma is {}; it must be positive, or -1 for sRGB", m_gamma);
        if (!(m_key > 0))
            complain("key is {}; it must be positive", m_key);
        if (m_format == "jpeg" && has_alpha())
            complain("a JPEG file has no alpha; set pixel_format to rgb or luminance, or "
                     "file_format to png");
    }

    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return with_extension(path, m_format == "jpeg" ? ".jpg" : ".png");
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        Tonemap how{ .gamma = m_gamma };
        if (m_method == "reinhard")
            how.reinhard = Reinhard{ .key = m_key, .burn = m_burn };
        else
            how.exposure = m_exposure;
        Image colours = colours_of(image), picture = tonemap(colours, how);
        if (colour_model(colours) == ColourModel::Y) // all three are the same
            picture = grey(picture);
        std::filesystem::path file = file_name(path);
        write_image(file, picture);
        return file;
    }

private:
    static Image grey(const Image &picture) {
        std::vector<std::string> from = { "R" }, to = { "Y" };
        if (umbel::has_alpha(picture))
            from.push_back("A"), to.push_back("A");
        Image one = select_channels(picture, from), out = one.with_channels(to);
        std::copy_n(one.bytes(), one.byte_count(), out.bytes());
        return out;
    }

    std::string m_format, m_method;
    double m_gamma = -1, m_exposure = 0, m_key = 0.18, m_burn = 0;
};

UMBEL_PLUGIN(Film, LdrFilm, "ldrfilm")
} // namespace umbel
