// core/limits.cpp: limits from the environment, and memory from the system.
#include "core/limits.h"
#include "jit/available_memory.h"
#include "jit/error.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

namespace umbel {

namespace {

size_t size_from(const char *variable, size_t otherwise) {
    const char *text = std::getenv(variable);
    return text && *text ? parse_bytes(text, variable) : otherwise;
}

void limit_memory(size_t bytes) {
    rlimit limit{ bytes, bytes }, before{};
    if (getrlimit(RLIMIT_DATA, &before) == 0) // what is less already stays
        limit = { std::min(before.rlim_cur, rlim_t(bytes)),
                  std::min(before.rlim_max, rlim_t(bytes)) };
    if (setrlimit(RLIMIT_DATA, &limit) != 0)
        throw DeviceError(
            fmt::format("--max-memory: the limit cannot be set: {}", std::strerror(errno)));
}

/// Whatever the process is doing then, it ends.
void limit_time(double seconds) {
    std::signal(SIGALRM, [](int) {
        constexpr std::string_view Message = "\numbel: stopped by --max-time, which holds for the "
                                             "whole command\n";
        (void)!write(STDERR_FILENO, Message.data(), Message.size());
        std::_Exit(2);
    });
    itimerval timer{};
    timer.it_value.tv_sec = time_t(seconds);
    timer.it_value.tv_usec = std::max<suseconds_t>(1, suseconds_t(std::fmod(seconds, 1) * 1e6));
    setitimer(ITIMER_REAL, &timer, nullptr);
}

} // namespace

ReadLimits &read_limits() {
    static ReadLimits limits{ size_from("UMBEL_MAX_SCENE", size_t(4) << 30),
                              size_from("UMBEL_MAX_IMAGE", size_t(8) << 30) };
    return limits;
}

void ReadOptions::apply() {
    ReadLimits &limits = read_limits();
    size_t memory = 0;
    if (untrusted) {
        using U = UntrustedLimits;
        limits = { std::min(limits.scene_bytes, U::SceneBytes),
                   std::min(limits.image_bytes, U::ImageBytes), false };
        memory = U::Memory;
        if (max_pixels == 0)
            max_pixels = U::Pixels;
        if (max_time == 0)
            max_time = U::Seconds;
    }
    if (!max_scene.empty())
        limits.scene_bytes = parse_bytes(max_scene, "--max-scene");
    if (!max_image.empty())
        limits.image_bytes = parse_bytes(max_image, "--max-image");
    if (!max_memory.empty())
        memory = parse_bytes(max_memory, "--max-memory");
    if (memory)
        limit_memory(memory);
    if (max_time > 0)
        limit_time(max_time);
}

size_t parse_bytes(std::string_view text, const std::string &where) {
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view unit = text.substr(size_t(end - text.data()));
    constexpr std::string_view Units = "KMGT";
    if (size_t power = unit.empty() ? Units.npos : Units.find(char(unit[0] & ~32));
        power != Units.npos) {
        number *= std::pow(1024.0, double(power + 1));
        unit.remove_prefix(1);
        if (unit.starts_with('i'))
            unit.remove_prefix(1);
    }
    if (error != std::errc() || !(number >= 1 && number < 0x1p62) || !(unit.empty() || unit == "B"))
        fail("{}: \"{}\" is no size; it is a number of bytes such as 500M, or 2GiB", where, text);
    return size_t(number);
}

std::string format_bytes(double bytes) {
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t i = 0;
    for (; bytes >= 1024 && i + 1 < std::size(units); ++i)
        bytes /= 1024;
    return fmt::format("{:.{}f} {}", bytes, i == 0 ? 0 : 1, units[i]);
}

size_t available_memory() { return jit::available_memory(); }

void ask_for_memory(double bytes, const std::string &where) {
    constexpr double Little = 0x1p26; // not worth to ask for
    if (bytes < Little)
        return;
    if (double there_is = double(available_memory()); bytes > there_is)
        throw DeviceError(fmt::format("{}: {} of memory are needed, and {} are left", where,
                                      format_bytes(bytes), format_bytes(there_is)));
}

} // namespace umbel
