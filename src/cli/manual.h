// cli/manual.h: what plugins take, from their declarations, as text for terminals and for docs/plugins.md.
#pragma once
#include <filesystem>
#include <string>

namespace umbel {

/// All kinds and their plugins, or those of one kind.
std::string list_plugins(const std::string &kind = {});
/// One plugin's parameters.
std::string describe_plugin(const std::string &kind, const std::string &name);
/// The manual of all plugins in Markdown. Prose comes from the comments that begin their files below `sources`, the
/// repository's root; without it there are tables only.
std::string plugin_manual(const std::filesystem::path &sources);

} // namespace umbel
