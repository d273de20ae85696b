// cli/viewer.h: a page for browsers in which images can be looked at.
#pragma once
#include "core/image.h"
#include <string>
#include <vector>

namespace umbel {

struct ViewedImage {
    std::string name;
    Image image;
};
/// One HTML file with all of them, which needs nothing else. Those of the last one's size can be compared with it; `note` is
/// shown beside.
std::string viewer_page(const std::vector<ViewedImage> &images, const std::string &note = {});

} // namespace umbel
