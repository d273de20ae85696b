// cli/main.cpp: the `umbel` command.
#include "cli/commands.h"
#include "cli/progress.h"
#include "core/nearest_name.h"
#include "core/properties.h"
#include "core/variant.h"
#include <algorithm>

namespace umbel {

int reporting_errors(const std::function<int()> &command) {
    try {
        return command();
    } catch (const UserError &e) {
        say(fmt::format("umbel: {}", e.what()));
        return 1;
    } catch (const DeviceError &e) {
        say(fmt::format("umbel: {}", e.what()));
        return 2;
    } catch (const std::exception &e) {
        say(fmt::format("umbel: a bug in Umbel, please report it: {}", e.what()));
        return 3;
    }
}

// The parser says only that a word was not expected.
static void check_command(const CLI::App &app, const std::string &word) {
    std::vector<std::string> known;
    for (const CLI::App *c : app.get_subcommands([](const CLI::App *) { return true; }))
        known.push_back(c->get_name());
    if (std::find(known.begin(), known.end(), word) == known.end())
        fail("there is no command {}{}", quote(word), suggestion(word, known, "commands"));
}

} // namespace umbel

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
    if (argc > 1 && argv[1][0] != '-') {
        int code = reporting_errors([&] {
            check_command(app, argv[1]);
            return 0;
        });
        if (code != 0)
            return code;
    }
    CLI11_PARSE(app, argc, argv);
    return reporting_errors(run);
}
