// bench/render/render_program.h: runs of the command line's program: how long, and how much memory.
#pragma once
#include "scenes.h"
#include <filesystem>
#include <fstream>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

extern char **environ;

namespace umbel::bench {

struct Run {
    double seconds;
    double bytes; // at most
};

inline double peak_memory(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/status", process));
    double kilobytes = 0;
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmHWM:"))
            kilobytes = std::atof(line.c_str() + 6);
    return 1024 * kilobytes;
}

/// Runs a program to its end.
inline Run run_program(const std::vector<std::string> &command) {
    std::vector<char *> argv;
    for (const std::string &word : command)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    auto begin = std::chrono::steady_clock::now();
    pid_t child;
    if (posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ))
        throw std::runtime_error("cannot run " + command[0]);
    int status = 0;
    double bytes = 0; // an account of the kernel's would begin with this process's own
    while (waitpid(child, &status, WNOHANG) == 0) {
        bytes = std::max(bytes, peak_memory(child));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (status)
        throw std::runtime_error(command[0] + " failed on " + command.at(2));
    return { std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
             bytes };
}

/// The kernel cache that a run begins with: an empty one, or that of an earlier run of the same scene.
enum class Cache { Cold, Warm };

/// `umbel render` of a scene.
inline Run render_program(const std::string &scene, const std::string &variant_name, Cache cache,
                          int spp = 1, const Definitions &definitions = {}) {
    std::string folder = variable("UMBEL_BENCH_FOLDER", "build/bench/render"),
                files = folder + "/program-cache";
    std::vector<std::string> command = { variable("UMBEL_PROGRAM", "build/release/umbel"),
                                         "render",
                                         scene,
                                         "-q",
                                         "--variant",
                                         variant_name,
                                         "--spp",
                                         std::to_string(spp),
                                         "-o",
                                         folder + "/program.exr" };
    std::string key = scene + variant_name + std::to_string(spp);
    for (auto &[name, value] : definitions) {
        command.insert(command.end(), { "-D", name + "=" + value });
        key += name + value;
    }
    static std::set<std::string> met; // since the cache was emptied
    if (cache == Cache::Cold) {
        std::filesystem::remove_all(files);
        met.clear();
    }
    setenv("UMBEL_CACHE", files.c_str(), 1);
    if (cache == Cache::Warm && !met.contains(key))
        run_program(command);
    met.insert(key);
    return run_program(command);
}

} // namespace umbel::bench
