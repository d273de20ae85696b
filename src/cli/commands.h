// cli/commands.h: the subcommands. Each adds its options to the parser and sets `run` when it was chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace umbel {

void add_render_command(CLI::App &app, std::function<int()> &run);
/// variants, help, info
void add_information_commands(CLI::App &app, std::function<int()> &run);
/// tonemap, compare
void add_image_commands(CLI::App &app, std::function<int()> &run);

} // namespace umbel
