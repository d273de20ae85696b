// jit/backend.h: what a machine must offer to run programs.
#pragma once
#include "jit/buffer.h"
#include "jit/device.h"
#include "jit/program.h"
#include <memory>
#include <string_view>

namespace umbel::jit {

/// Collects what a launch reports besides its results. Functions may be called from any thread.
class LaunchLog {
public:
    virtual ~LaunchLog() = default;
    /// `frame` as for ExternFn; `site` indexes Program::externs.
    virtual void print(uint32_t site, uint64_t first_lane, uint32_t lanes, const int32_t *mask,
                       const void *frame) = 0;
    /// Lanes of the mask failed assertion `site`.
    virtual void assertion(uint32_t site, uint64_t first_lane, uint32_t lanes,
                           const int32_t *mask) = 0;
    /// The checking mode found an error.
    virtual void error(const std::string &message) = 0;
};

/// One launch: argument i of the program is args[i]. `sizes[i]` counts the elements behind it.
struct Launch {
    void *const *args;
    const uint64_t *sizes;
    uint64_t size; // lanes
    LaunchLog *log;
};

/// One launch on a device: what is bound to each argument, in the program's order.
struct DeviceLaunch {
    struct Arg {
        Buffer *buffer = nullptr;   // an array, or ...
        const void *host = nullptr; // ... a table of the launch's own
        uint64_t bytes = 0;
    };
    const std::vector<Arg> &args;
    uint64_t size; // lanes
    LaunchLog *log;
};

/// What a kernel takes of a device, for the history; zeros on the host.
struct KernelResources {
    uint32_t registers = 0; // of a thread
    uint32_t local_bytes =
        0; // of a thread, in the device's memory: local arrays, and what found no register
    double occupancy = 0; // threads that a processor has at a time, of those that it could have
};

/// A program made ready to run.
class Kernel {
public:
    virtual ~Kernel() = default;
    /// Runs lanes [begin, end); begin is a multiple of width(). Called from several threads at once.
    virtual void run(const Launch &launch, uint64_t begin, uint64_t end) const = 0;
    /// Kernels of a device: all lanes. Their end is waited for by who synchronizes.
    virtual void run_on_device(const DeviceLaunch &) const {}
    /// Bytes from which Backend::load makes the kernel again; empty where that is not worthwhile.
    virtual std::string save() const { return {}; }
    /// Lanes that are processed together.
    virtual uint32_t width() const = 0;
    /// Bytes of machine code, for the kernel history.
    virtual size_t code_bytes() const { return 0; }
    /// Of a kernel that is ready; makes it one that can be launched.
    virtual KernelResources resources() const { return {}; }
};

/// Ranges handed to Kernel::run start at multiples of this; where a lane takes long, at smaller ones.
constexpr uint64_t Grain = 1024;

class Backend {
public:
    virtual ~Backend() = default;
    virtual const char *name() const = 0;
    /// Names everything besides the program that the code depends on: CPU, width, version.
    virtual std::string fingerprint() const = 0;
    /// The machine, as users know it.
    virtual std::string description() const { return fingerprint(); }
    virtual std::unique_ptr<Kernel> compile(const Program &program,
                                            const std::string &kernel_name) = 0;
    /// Null where the bytes are not a kernel of this backend and machine.
    virtual std::unique_ptr<Kernel> load(std::string_view) { return nullptr; }
    /// Where its kernels run; null: on the host.
    virtual Device *device() { return nullptr; }
};

/// Made on first use, alive until the process ends.
Backend &llvm_backend();
Backend &interp_backend();
/// `interp` with bounds, initialization and NaN checks.
Backend &checking_backend();
/// The one of that name, of jit/backends.h; a DeviceError says what is missing on machines without such a GPU or its driver.
Backend &find_backend(std::string_view name);

} // namespace umbel::jit
