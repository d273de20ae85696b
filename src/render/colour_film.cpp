// render/colour_film.cpp: see render/colour_film.h.
#include "render/colour_film.h"
#include "core/colour.h"
#include <algorithm>

namespace umbel {

void ColourFilm::declare_pixels(Params &p, const char *otherwise,
                                std::vector<std::string> formats) {
    p.choice("pixel_format", m_pixels, otherwise, std::move(formats))
        .doc("Channels that are written");
    p.boolean("sample_border", m_sample_border, false)
        .doc("Pixels at the border see what lies beyond it; if not, the filter ends there");
}

void ColourFilm::declare_component(Params &p) {
    p.choice("component_format", m_component, "float16", { "float16", "float32", "uint32" })
        .doc("How OpenEXR files store a channel");
}

Component ColourFilm::component() const {
    return m_component == "float32"  ? Component::F32
           : m_component == "uint32" ? Component::U32
                                     : Component::F16;
}

bool ColourFilm::is_luminance() const {
    return variant().colour != Colour::Mono && m_pixels.starts_with("luminance");
}
bool ColourFilm::is_xyz() const {
    return variant().colour != Colour::Mono && m_pixels.starts_with("xyz");
}

std::vector<std::string> ColourFilm::image_names(const std::vector<std::string> &collected) const {
    std::vector<std::string> names = collected;
    if (is_luminance()) {
        names.erase(names.begin(), names.begin() + 2);
        names[0] = "Y";
    } else if (is_xyz())
        std::copy_n(std::array{ "X", "Y", "Z" }.begin(), 3, names.begin());
    return names;
}

std::vector<Float> ColourFilm::develop_pixel(std::vector<Float> in) const {
    if (!is_luminance() && !is_xyz())
        return in;
    const ColourMatrix &m = srgb_to_xyz_matrix();
    std::vector<Float> out;
    for (size_t row = is_xyz() ? 0 : 1; row < (is_xyz() ? 3u : 2u); ++row)
        out.push_back(in[0] * m[row][0] + in[1] * m[row][1] + in[2] * m[row][2]);
    out.insert(out.end(), in.begin() + 3, in.end());
    return out;
}

Image ColourFilm::colours_of(const Image &image) {
    std::vector<std::string> names;
    for (const std::string &name : image.channels())
        if (name.size() == 1 && std::string_view("RGBXYZA").find(name) != std::string_view::npos)
            names.push_back(name);
    return names.size() == image.channel_count() ? image : select_channels(image, names);
}

} // namespace umbel
