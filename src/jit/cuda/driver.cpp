// jit/cuda/driver.cpp: finding NVIDIA's driver.
#include "jit/cuda/driver.h"
#include "jit/error.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

namespace umbel::jit::cuda {

namespace {

constexpr const char *Remedy = "; the llvm variants need no GPU";
constexpr int LeastVersion = 11000; // whose PTX has all that is used

std::atomic<bool> g_is_leaving = false;

Driver load() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw DeviceError(fmt::format("no CUDA device: the library of NVIDIA's driver, "
                                      "libcuda.so.1, was not found ({}){}",
                                      dlerror(), Remedy));
    Driver d;
    auto find = [&](auto &function, const char *symbol) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
        if (!function)
            throw DeviceError(fmt::format("NVIDIA's driver has no function {}: it is too old; "
                                          "CUDA {} is the least{}",
                                          symbol, LeastVersion / 1000, Remedy));
    };
#define X(member, symbol, parameters) find(d.member, symbol);
    UMBEL_CUDA_FUNCTIONS(X)
#undef X
    auto need_here = [&](Result result, const char *what) {
        if (result == Success)
            return;
        const char *text = nullptr;
        d.error_text(result, &text);
        throw DeviceError(fmt::format("no CUDA device: {} failed: {}{}", what,
                                      text ? text : "unknown error", Remedy));
    };
    need_here(d.init(0), "starting NVIDIA's driver");
    need_here(d.driver_version(&d.version), "asking for the driver's version");
    if (d.version < LeastVersion)
        throw DeviceError(fmt::format("NVIDIA's driver is for CUDA {}.{}, and {}.0 is the least{}",
                                      d.version / 1000, d.version % 1000 / 10, LeastVersion / 1000,
                                      Remedy));
    return d;
}

} // namespace

bool driver_is_leaving() { return g_is_leaving; }

const Driver &driver() {
    static const Driver d = [] {
        Driver loaded = load();                   // tried again after a failure
        std::atexit([] { g_is_leaving = true; }); // called before what the driver has asked for
        return loaded;
    }();
    return d;
}

void need(Result result, const char *what) {
    if (result == Success)
        return;
    const char *name = nullptr, *text = nullptr;
    driver().error_name(result, &name);
    driver().error_text(result, &text);
    throw DeviceError(fmt::format("CUDA: {} failed: {} ({})", what, text ? text : "unknown error",
                                  name ? name : std::to_string(result)));
}

} // namespace umbel::jit::cuda
