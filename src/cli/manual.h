// cli/manual.h: what plugins take, from their declarations, as text for terminals and for docs/plugins.md.
#pragma once
#include <string>

namespace umbel {

/// All kinds and their plugins, or those of one kind.
std::string list_plugins(const std::string &kind = {});
/// What there is to say about a kind (`bsdf`), a plugin (`roughconductor`, `bsdf/roughconductor`), or plugins of the same name.
std::string describe(const std::string &topic);
/// The manual of all plugins in Markdown.
std::string plugin_manual();

/// What the comment says that begins the file plugins/FOLDER/NAME.cpp. The build makes the table, the last of which is empty.
struct PluginProse {
    const char *folder, *name, *text;
};
extern const PluginProse plugin_prose[];

} // namespace umbel
