// jit/available_memory.cpp: what the system says about memory, in files and by limits.
#include "jit/available_memory.h"
#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace umbel::jit {

namespace {

/// The beginning of a file; empty where there is none.
std::string contents(const std::string &path) {
    std::string text(1 << 14, '\0');
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    while (file >= 0 && done < text.size()) {
        ssize_t n = read(file, text.data() + done, text.size() - done);
        if (n <= 0)
            break;
        done += size_t(n);
    }
    if (file >= 0)
        close(file);
    text.resize(done);
    return text;
}

/// The number that a text begins with, or that behind a word at the beginning of a line; `otherwise` where there is none.
uint64_t number(std::string_view text, std::string_view word, uint64_t otherwise) {
    if (!word.empty()) {
        size_t at = 0;
        auto is_here = [&] {
            std::string_view line = text.substr(at);
            return line.starts_with(word) && line.find_first_of(" \t", word.size()) == word.size();
        };
        while (!is_here()) {
            at = text.find('\n', at);
            if (at == text.npos)
                return otherwise;
            ++at;
        }
        text.remove_prefix(at + word.size());
        text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    }
    uint64_t value;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? value : otherwise;
}

uint64_t left(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

/// Names of files and of their entries in one version of control groups.
struct GroupFiles {
    const char *limit, *used, *inactive_cache, *active_cache;
    const char *swap_limit, *used_swap;
    bool swap_has_memory; // the last two are of memory and swap together
};
constexpr GroupFiles Version1{ "memory.limit_in_bytes",
                               "memory.usage_in_bytes",
                               "total_inactive_file",
                               "total_active_file",
                               "memory.memsw.limit_in_bytes",
                               "memory.memsw.usage_in_bytes",
                               true },
    Version2{ "memory.max",  "memory.current",  "inactive_file",
              "active_file", "memory.swap.max", "memory.swap.current",
              false };

/// What a group, which has so much memory left, leaves of the machine's swap; nothing where the system does not tell.
uint64_t swap_left_in_group(const std::string &folder, const GroupFiles &files, uint64_t memory,
                            uint64_t swap) {
    std::string limit = contents(folder + files.swap_limit);
    if (limit.empty())
        return 0;
    uint64_t rest = left(number(limit, "", UINT64_MAX), // or `max`
                         number(contents(folder + files.used_swap), "", 0));
    return std::min(swap, files.swap_has_memory ? left(rest, memory) : rest);
}

/// What a group and those around it leave, each of which has a limit of its own. Of the path, what is not there is passed over: inside
/// of a container, it may be the host's. `swap`: what the machine has left.
uint64_t left_in_group(const std::string &mount, std::string_view path, const GroupFiles &files,
                       uint64_t swap) {
    uint64_t memory = UINT64_MAX;
    if (path.find("..") != path.npos) // of a group outside of what is to be seen
        path = {};
    while (path.ends_with('/'))
        path.remove_suffix(1);
    while (true) {
        std::string folder = mount + std::string(path) + "/";
        uint64_t limit = number(contents(folder + files.limit), "", UINT64_MAX); // or `max`
        if (limit != UINT64_MAX) {
            uint64_t used = number(contents(folder + files.used), "", 0);
            // Of files that were read, the system gives back what is asked for
            std::string stat = contents(folder + "memory.stat");
            uint64_t rest = left(limit, left(used, number(stat, files.inactive_cache, 0) +
                                                       number(stat, files.active_cache, 0)));
            rest += swap_left_in_group(folder, files, left(limit, used), swap);
            memory = std::min(memory, rest);
        }
        if (path.empty())
            return memory;
        size_t slash = path.rfind('/');
        path = slash == path.npos ? std::string_view() : path.substr(0, slash);
    }
}

uint64_t left_in_groups(const std::string &root, uint64_t swap) {
    uint64_t memory = UINT64_MAX;
    std::string text = contents(root + "/proc/self/cgroup");
    for (std::string_view lines = text; !lines.empty();) { // number:controllers:path
        std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
        size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos)
            continue;
        std::string controllers =
            "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
        std::string_view path = line.substr(second + 1);
        if (controllers == ",,")
            for (const char *mount : { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" })
                memory = std::min(memory, left_in_group(root + mount, path, Version2, swap));
        else if (controllers.find(",memory,") != controllers.npos)
            memory = std::min(memory,
                              left_in_group(root + "/sys/fs/cgroup/memory", path, Version1, swap));
    }
    return memory;
}

/// What `resource` leaves of what is used already.
uint64_t left_of_limit(decltype(RLIMIT_AS) resource, uint64_t used) {
    rlimit limit{};
    bool is_there = getrlimit(resource, &limit) == 0;
    return is_there && limit.rlim_cur != RLIM_INFINITY ? left(limit.rlim_cur, used) : UINT64_MAX;
}

} // namespace

uint64_t available_memory(const std::string &root) {
    std::string machine = contents(root + "/proc/meminfo");
    uint64_t memory = number(machine, "MemAvailable:", UINT64_MAX >> 10) << 10,
             swap = number(machine, "SwapFree:", 0) << 10;
    if (memory < UINT64_MAX >> 1)
        memory += swap;
    memory = std::min(memory, left_in_groups(root, swap));
    uint64_t page = uint64_t(sysconf(_SC_PAGESIZE)),
             space = number(contents(root + "/proc/self/statm"), "", 0) * page,
             data = number(contents(root + "/proc/self/status"), "VmData:", 0) << 10;
    return std::min({ memory, left_of_limit(RLIMIT_AS, space), left_of_limit(RLIMIT_DATA, data) });
}

std::string memory_left() {
    return fmt::format("{:.1f} MiB of memory are left", double(available_memory()) / 0x1p20);
}

} // namespace umbel::jit
