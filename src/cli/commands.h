// cli/commands.h: the subcommands. Each adds its options to the parser and sets `run` when it was chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <map>

namespace umbel {

/// Of arguments of -D, each `name=value`.
std::map<std::string, std::string, std::less<>>
read_definitions(const std::vector<std::string> &given);

/// Runs a command; what it throws is printed. Returns the exit code: 1 for mistakes of users, 2 for the machine's, 3 for ours.
int reporting_errors(const std::function<int()> &command);

void add_render_command(CLI::App &app, std::function<int()> &run);
/// upgrade
void add_scene_commands(CLI::App &app, std::function<int()> &run);
/// variants, help, info
void add_information_commands(CLI::App &app, std::function<int()> &run);
/// optimize
void add_optimize_command(CLI::App &app, std::function<int()> &run);
/// selftest
void add_selftest_command(CLI::App &app, std::function<int()> &run);
/// tonemap, compare, view
void add_image_commands(CLI::App &app, std::function<int()> &run);

} // namespace umbel
