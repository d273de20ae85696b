// cli/main.cpp: the `umbel` command.
#include "cli/commands.h"
#include "cli/progress.h"
#include "core/nearest_name.h"
#include "core/properties.h"
#include "core/variant.h"
#include "core/warning.h"
#include "jit/available_memory.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace umbel {

static int report_errors(const std::function<int()> &command) {
    try {
        return command();
    } catch (const UserError &e) {
        say(fmt::format("umbel: {}", e.what()));
        return 1;
    } catch (const DeviceError &e) {
        say(fmt::format("umbel: {}", e.what()));
        return 2;
    } catch (const std::system_error &e) { // of files and streams
        if (e.code() == std::errc::broken_pipe)
            return 0; // `umbel help | head`: whoever reads has had enough
        say(fmt::format("umbel: {}", e.what()));
        return 2;
    } catch (const std::bad_alloc &) {
        say(fmt::format("umbel: out of memory; {}; a smaller image, fewer threads (-p) or a "
                        "simpler scene needs less",
                        jit::memory_left()));
        return 2;
    } catch (const std::exception &e) {
        say(fmt::format("umbel: a bug in Umbel, please report it: {}", e.what()));
        return 3;
    }
}

int reporting_errors(const std::function<int()> &command) {
    try {
        return report_errors(command);
    } catch (const std::bad_alloc &) { // none for a message either
        constexpr std::string_view Message = "\numbel: out of memory, of which less than 1 MiB is "
                                             "left; raise the process's limits of it\n";
        (void)!write(STDERR_FILENO, Message.data(), Message.size());
        return 2;
    }
}

// Files that are opened later would take the number of a stream that whoever started us has closed, and get what is printed.
static void open_closed_streams() {
    for (int stream : { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO })
        if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
}

// Large files are mapped. What another program cuts off of one is missing where it was mapped: there is no error to be told of, only
// this signal.
static void end_where_files_are_cut_short() {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_RESETHAND;
    action.sa_sigaction = [](int, siginfo_t *info, void *) {
        if (info->si_code != BUS_ADRERR) {
            raise(SIGBUS); // as it would have ended without us
            return;
        }
        constexpr std::string_view Message = "\numbel: a file that was being read has been cut "
                                             "short by another program, or its disk "
                                             "has failed; try again\n";
        (void)!write(STDERR_FILENO, Message.data(), Message.size());
        std::_Exit(2);
    };
    sigaction(SIGBUS, &action, nullptr);
}

static bool reader_is_gone() {
    pollfd out{ STDOUT_FILENO, 0, 0 };
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

// What was printed may still be on its way, to a disk that is full.
static int finish_output(int code) {
    if ((std::fflush(stdout) == 0 && !std::ferror(stdout)) || reader_is_gone())
        return code;
    say(fmt::format("umbel: the output cannot be written: {}", std::strerror(errno)));
    return code == 0 ? 2 : code;
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
    open_closed_streams();
    std::signal(SIGXFSZ, SIG_IGN); // beyond `ulimit -f`, writing fails as on a full disk
    std::signal(SIGPIPE, SIG_IGN); // nobody reads what is said: no reason to lose an image
    end_where_files_are_cut_short();
    set_warning_sink([](const std::string &text) { say("umbel: " + text); }); // around the bar
    CLI::App app{ "Umbel: a retargetable, differentiable renderer" };
    app.set_version_flag("--version", "umbel " UMBEL_VERSION);
    app.require_subcommand(1);
    std::function<int()> run;
    add_render_command(app, run);
    add_scene_commands(app, run);
    add_information_commands(app, run);
    add_image_commands(app, run);
    add_optimize_command(app, run);
    add_selftest_command(app, run);
    if (argc > 1 && argv[1][0] != '-') {
        int code = reporting_errors([&] {
            check_command(app, argv[1]);
            return 0;
        });
        if (code != 0)
            return code;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) { // or a call for help
        return finish_output(app.exit(e) == 0 ? 0 : 1);
    }
    return finish_output(reporting_errors(run));
}
