// cli/optimize.cpp: `umbel optimize`, which is Python's: jobs are scripts, or are run by one (python/umbel/ad/jobs.py).
#include "cli/commands.h"
#include "jit/error.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace umbel {

namespace {

// Whether the interpreter starts and knows the package; without a word.
bool has_package(const std::string &python) {
    pid_t child = fork();
    if (child < 0)
        throw DeviceError(fmt::format("no process can be started: {}", std::strerror(errno)));
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execlp(python.c_str(), python.c_str(), "-c", "import umbel.ad.jobs", nullptr);
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int optimize(const std::vector<std::string> &arguments) {
    const char *named = std::getenv("UMBEL_PYTHON");
    std::string python = named && *named ? named : "python3";
    if (!has_package(python))
        fail("optimize: jobs are run by Umbel's Python package, which {} does not have: install it "
             "(pip install "
             "umbel), or name an interpreter that has it in the variable UMBEL_PYTHON",
             python);
    std::vector<const char *> argv{ python.c_str(), "-m", "umbel", "optimize" };
    for (const std::string &a : arguments)
        argv.push_back(a.c_str());
    argv.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL); // what is ignored here would be there, too
    std::signal(SIGXFSZ, SIG_DFL);
    execvp(python.c_str(), const_cast<char *const *>(argv.data()));
    throw DeviceError(fmt::format("{} cannot be started: {}", python, std::strerror(errno)));
}

} // namespace

void add_optimize_command(CLI::App &app, std::function<int()> &run) {
    CLI::App *c = app.add_subcommand("optimize", "Find parameters of a scene from images of it: "
                                                 "umbel optimize JOB.toml|JOB.py [OPTIONS]");
    c->set_help_flag(); // Python's side has the options, and the help
    c->prefix_command();
    c->callback([c, &run] { run = [c] { return optimize(c->remaining()); }; });
}

} // namespace umbel
