// cli/main.cpp: the `umbel` command.
#include "cli/commands.h"
#include "core/variant.h"
#include <cstdio>

int main(int argc, char **argv) {
    using namespace umbel;
    CLI::App app{ "Umbel: a retargetable, differentiable renderer" };
    app.set_version_flag("--version", "umbel " UMBEL_VERSION);
    app.require_subcommand(1);
    std::function<int()> run;
    add_render_command(app, run);
    add_scene_commands(app, run);
    add_information_commands(app, run);
    add_image_commands(app, run);
    CLI11_PARSE(app, argc, argv);
    try {
        return run();
    } catch (const UserError &e) {
        fmt::print(stderr, "umbel: {}\n", e.what());
        return 1;
    } catch (const DeviceError &e) {
        fmt::print(stderr, "umbel: {}\n", e.what());
        return 2;
    } catch (const std::exception &e) {
        fmt::print(stderr, "umbel: a bug in Umbel, please report it: {}\n", e.what());
        return 3;
    }
}
