// render/colour_film.h: films whose image has colours, or luminance, and maybe alpha.
#pragma once
#include "render/film.h"

namespace umbel {

class ColourFilm : public Film {
public:
    bool sample_border() const override { return m_sample_border; }
    bool has_alpha() const override { return m_pixels.back() == 'a'; }
    std::vector<std::string> image_names(const std::vector<std::string> &collected) const override;

protected:
    /// Channels and borders, beside what Film declares.
    void declare_pixels(Params &p, const char *otherwise, std::vector<std::string> formats);
    /// How OpenEXR files store numbers.
    void declare_component(Params &p);
    Component component() const;
    std::vector<Float> develop_pixel(std::vector<Float> means) const override;
    /// The colours and alpha of an image, without further channels.
    static Image colours_of(const Image &image);

    std::string m_pixels = "rgb";

private:
    // In monochromatic variants, there is nothing to convert.
    bool is_luminance() const;
    bool is_xyz() const;

    std::string m_component;
    bool m_sample_border = false;
};

} // namespace umbel
