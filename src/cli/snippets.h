// cli/snippets.h: a plugin's example as people write it, in scene files and in Python.
#pragma once
#include <string>

namespace umbel {

struct Plugin;

struct Snippet {
    std::string xml, python; // lines, each with its end
};
/// `parameters`: as Params::example has them. Files that they name are in the folder at hand.
Snippet snippet_of(const Plugin &plugin, const std::string &parameters);

} // namespace umbel
