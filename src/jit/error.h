// jit/error.h: the three kinds of failure and the checks that raise them.
#pragma once
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace umbel {

/// What an exception says ends at a NUL: those of quoted input are written as `\x00`.
inline std::string without_nul(std::string text) {
    for (size_t at = 0; (at = text.find('\0', at)) != text.npos;)
        text.replace(at, 1, "\\x00");
    return text;
}

/// The input or the call is wrong; the message says where, what and what to do.
struct UserError : std::runtime_error {
    explicit UserError(std::string text) : std::runtime_error(without_nul(std::move(text))) {}
};

/// The machine failed us: no memory, no disk, no GPU.
struct DeviceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A bug of Umbel's own.
struct InternalError : std::logic_error {
    using std::logic_error::logic_error;
};

template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> f, Args &&...args) {
    throw UserError(fmt::format(f, std::forward<Args>(args)...));
}

[[noreturn]] inline void check_failed(const char *what, const char *file, int line,
                                      const std::string &detail) {
    throw InternalError(fmt::format("{}:{}: check failed: {} {}", file, line, what, detail));
}

} // namespace umbel

/// Invariants of our own code. `check_eq` prints both values.
#define check(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) [[unlikely]]                                                                  \
            ::umbel::check_failed(#cond, __FILE__, __LINE__, "");                                  \
    } while (0)
#define check_eq(a, b)                                                                             \
    do {                                                                                           \
        if (!((a) == (b))) [[unlikely]]                                                            \
            ::umbel::check_failed(#a " == " #b, __FILE__, __LINE__,                                \
                                  fmt::format("({} and {})", (a), (b)));                           \
    } while (0)
