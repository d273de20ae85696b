// cli/viewer.cpp: see cli/viewer.h; the page itself is cli/viewer.html.
#include "cli/viewer.h"
#include <nlohmann/json.hpp>
#include <zlib.h>

// The page as it is. The build gives its path.
asm(".section .rodata\n"
    "umbel_viewer_page:\n"
    ".incbin \"" UMBEL_VIEWER_PAGE "\"\n"
    ".byte 0\n"
    ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const char umbel_viewer_page[];

namespace umbel {

namespace {

std::string base64(const std::vector<uint8_t> &bytes) {
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
        size_t n = std::min<size_t>(3, bytes.size() - i);
        uint32_t v = 0;
        for (size_t k = 0; k < 3; ++k)
            v = v << 8 | (k < n ? bytes[i + k] : 0);
        for (size_t k = 0; k < 4; ++k)
            out += k <= n ? digits[v >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

/// Linear values of all channels in single precision, deflated.
std::vector<uint8_t> deflated(const Image &image) {
    Image linear = convert(image, Component::F32, false);
    uLongf size = compressBound(uLong(linear.byte_count()));
    std::vector<uint8_t> out(size);
    check(compress2(out.data(), &size, linear.bytes(), uLong(linear.byte_count()), 6) == Z_OK);
    out.resize(size);
    return out;
}

} // namespace

std::string viewer_page(const std::vector<ViewedImage> &images, const std::string &note) {
    nlohmann::json all = nlohmann::json::array();
    for (const auto &[name, image] : images)
        all.push_back({ { "name", name },
                        { "width", image.width() },
                        { "height", image.height() },
                        { "channels", image.channels() },
                        { "data", base64(deflated(image)) } });
    using Json = nlohmann::json;
    std::string text = Json({ { "images", std::move(all) }, { "note", note } })
                           .dump(-1, ' ', false, Json::error_handler_t::replace),
                data, page = umbel_viewer_page;
    data.reserve(text.size());
    for (char c : text) // no name can end the script
        c == '<' ? data += "\\u003c" : data += c;
    std::string place = ">UMBEL_IMAGES<";
    return page.replace(page.find(place) + 1, place.size() - 2, data);
}

} // namespace umbel
