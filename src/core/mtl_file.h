// core/mtl_file.h: Wavefront's material libraries (.mtl), which OBJ files name.
#pragma once
#include "core/properties.h"
#include <map>
#include <string>

namespace umbel {

/// Surfaces by name. Colours, textures, highlights, smooth metal and glass, opacity and bumps are understood, the rest is passed
/// over. Textures are looked for where `files` looks, then beside the library; those that are missing are remarked on and left out.
/// UserError where the library cannot be read; what is malformed in it is passed over.
std::map<std::string, PropertiesPtr, std::less<>>
read_mtl(const std::filesystem::path &path, const std::shared_ptr<const FileResolver> &files);

} // namespace umbel
