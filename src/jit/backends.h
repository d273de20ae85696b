// jit/backends.h: which backends there are.
//
// A folder of src/jit with a file backend.cpp is a backend. That file has a function `list_FOLDER_backends`, which the build calls;
// nothing else names the folder.
#pragma once
#include "jit/backend.h"

namespace umbel::jit {

struct BackendEntry {
    std::string_view name;
    int rank; // in lists
    /// Made on first use, alive until the process ends. A DeviceError says what is missing on this machine.
    Backend &(*open)();
    /// Whether this machine can run its kernels; to find out may start a driver.
    bool (*is_present)() = [] { return true; };
    bool has_variants = true; // of the renderer
    /// Of backends that can have several devices: that of a number, alive as long.
    Backend &(*open_device)(int number) = nullptr;
    /// Those of them that were opened.
    std::vector<Device *> (*open_devices)() = [] { return std::vector<Device *>(); };
};
/// All of them, by rank.
const std::vector<BackendEntry> &backends();

} // namespace umbel::jit
