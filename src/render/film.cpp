// render/film.cpp: sizes and crop windows.
#include "render/film.h"
#include <algorithm>

namespace umbel {

void Film::declare(Params &p) {
    p.integer("width", m_width, 768, 1, 1 << 20).doc("Width of the image in pixels");
    p.integer("height", m_height, 576, 1, 1 << 20).doc("Height of the image in pixels");
    Crop c;
    p.integer("crop_offset_x", c.x, 0, 0).doc("Left edge of the part that is rendered");
    p.integer("crop_offset_y", c.y, 0, 0).doc("Top edge of the part that is rendered");
    p.integer("crop_width", c.width, 0, 0).doc("Width of the part that is rendered; 0: all of it");
    p.integer("crop_height", c.height, 0, 0)
        .doc("Height of the part that is rendered; 0: all of it");
    p.object("rfilter", m_filter).doc("Reconstruction filter; gaussian if absent");
    if (p.traversing()) {
        p.exposed("size", std::array{ &m_width, &m_height });
        p.exposed("crop_size", std::array{ &m_crop.width, &m_crop.height });
        p.exposed("crop_offset", std::array{ &m_crop.x, &m_crop.y });
    }
    if (!p.loading())
        return;
    if (!m_filter)
        m_filter = p.loader()->load_as<Filter>(std::make_shared<Properties>("rfilter", "gaussian"));
    if (!c.width)
        c.width = m_width;
    if (!c.height)
        c.height = m_height;
    set_crop(c);
}

void Film::changed(std::span<const std::string> names) {
    if (m_width < 1 || m_height < 1)
        complain("an image cannot have {} x {} pixels", m_width, m_height);
    bool has_crop = std::any_of(names.begin(), names.end(),
                                [](const std::string &n) { return n.starts_with("crop"); });
    if (has_crop)
        set_crop(m_crop);
    else
        set_size(m_width, m_height);
}

void Film::set_size(int width, int height) {
    m_width = width;
    m_height = height;
    m_crop = { 0, 0, width, height };
}

void Film::set_crop(const Crop &c) {
    if (c.width < 1 || c.height < 1 || c.x < 0 || c.y < 0 || c.x + c.width > m_width ||
        c.y + c.height > m_height)
        fail("{}: the crop window of {} x {} pixels at ({}, {}) does not lie in the image of {} x "
             "{}",
             where(), c.width, c.height, c.x, c.y, m_width, m_height);
    m_crop = c;
}

} // namespace umbel
