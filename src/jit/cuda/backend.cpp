// jit/cuda/backend.cpp: kernels for NVIDIA's GPUs: PTX that the driver's own assembler turns into code.
#include "jit/backends.h"
#include "jit/background.h"
#include "jit/background_kernel.h"
#include "jit/cuda/device.h"
#include "jit/cuda/kernel_log.h"
#include "jit/cuda/module.h"
#include "jit/cuda/present.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/error.h"
#include "jit/finish_later.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <span>

namespace umbel::jit {
namespace cuda {
namespace {

constexpr unsigned BlockLanes = 128;
constexpr uint32_t LogBytes = 8 << 20;
constexpr size_t MostUnfinished = 16; // launches whose logs were not read yet

// What the assembler makes of a module, on a thread of its own: others go on recording, and assemble what comes next.
class Assembly {
public:
    static std::shared_ptr<Assembly> start(CudaDevice &device, std::string ptx) {
        auto made = std::make_shared<Assembly>();
        made->m_text_bytes = ptx.size();
        auto work = [made, &device, ptx = std::move(ptx)] {
            using Clock = std::chrono::steady_clock;
            Clock::time_point begin = Clock::now();
            try {
                std::string image = assemble_image(device, ptx);
                made->m_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
                made->m_promise.set_value(std::move(image));
            } catch (...) {
                made->m_promise.set_exception(std::current_exception());
            }
        };
        if (!run_in_background(work))
            work();
        return made;
    }
    static std::shared_ptr<Assembly> known(std::string image) {
        auto made = std::make_shared<Assembly>();
        made->m_promise.set_value(std::move(image));
        return made;
    }
    /// Waits.
    const std::string &image() const { return m_image.get(); }
    bool is_ready() const {
        return m_image.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    double seconds() const { return m_seconds; }
    size_t text_bytes() const { return m_text_bytes; }

private:
    std::promise<std::string> m_promise;
    std::shared_future<std::string> m_image = m_promise.get_future().share();
    std::atomic<double> m_seconds = 0;
    size_t m_text_bytes = 0;
};

// Of a program: what a launch must know of it, besides the code.
struct Outline {
    std::string entry;
    uint32_t lanes; // of a thread
    std::vector<Arg> args;
    std::vector<ExternSite> externs;
};

class CudaKernel final : public BackgroundKernel {
public:
    CudaKernel(CudaDevice &device, std::shared_ptr<Assembly> assembly, Outline outline)
        : m_device(device), m_assembly(std::move(assembly)), m_entry(std::move(outline.entry)),
          m_lanes(outline.lanes), m_args(std::move(outline.args)),
          m_externs(std::move(outline.externs)) {}
    ~CudaKernel() override {
        if (m_loaded.module && !driver_is_leaving() &&
            driver().context_set(m_device.context()) == Success) {
            driver().stream_wait(m_device.stream()); // it may be queued
            driver().module_unload(m_loaded.module);
        }
    }

    void run(const Launch &, uint64_t, uint64_t) const override { check(false); }
    void run_on_device(const DeviceLaunch &launch) const override;
    uint32_t width() const override { return 32; }
    size_t code_bytes() const override {
        return is_ready() ? m_assembly->image().size() : m_assembly->text_bytes();
    }
    void make_ready() const override { m_assembly->image(); }
    bool is_ready() const override { return m_assembly->is_ready(); }
    double background_seconds() const override { return m_assembly->seconds(); }
    KernelResources resources() const override;
    std::string save() const override;
    static std::unique_ptr<Kernel> load(CudaDevice &device, std::string_view bytes);

private:
    struct Loaded {
        ModuleHandle *module = nullptr;
        FunctionHandle *function = nullptr;
        DeviceAddress constants = 0;
    };
    Loaded loaded() const;

    CudaDevice &m_device;
    std::shared_ptr<Assembly> m_assembly;
    std::string m_entry;
    uint32_t m_lanes;
    std::vector<Arg> m_args;
    std::vector<ExternSite> m_externs;
    mutable std::mutex m_mutex;
    mutable Loaded m_loaded; // once it has run
};

CudaKernel::Loaded CudaKernel::loaded() const {
    const std::string &image = m_assembly->image();
    std::lock_guard lock(m_mutex);
    if (m_loaded.module)
        return m_loaded;
    const Driver &d = driver();
    Loaded l;
    l.module = load_module(m_device, image);
    size_t bytes = 0;
    Result result = d.module_function(&l.function, l.module, m_entry.c_str());
    if (result == Success)
        result = d.module_global(&l.constants, &bytes, l.module, "args");
    if (result != Success)
        d.module_unload(l.module);
    need(result, "finding a kernel");
    return m_loaded = l;
}

// What the driver does not tell stays 0: nothing depends on it.
KernelResources CudaKernel::resources() const {
    const Driver &d = driver();
    FunctionHandle *function = loaded().function;
    m_device.make_current();
    int registers = 0, local = 0, blocks = 0;
    d.function_attribute(&registers, FunctionRegisters, function);
    d.function_attribute(&local, FunctionLocalBytes, function);
    d.function_blocks(&blocks, function, BlockLanes, 0);
    return { uint32_t(registers), uint32_t(local),
             blocks * double(BlockLanes) / std::max(m_device.threads(), 1) };
}

// Memory of one launch.
class Scratch {
public:
    explicit Scratch(CudaDevice &device) : m_device(device) {}
    ~Scratch() {
        for (auto [address, bytes] : m_blocks)
            m_device.release(address, bytes);
    }
    Scratch(const Scratch &) = delete;
    uint64_t allocate(uint64_t bytes) {
        uint64_t address = m_device.allocate(bytes);
        m_blocks.push_back({ address, bytes });
        return address;
    }

private:
    CudaDevice &m_device;
    std::vector<std::pair<uint64_t, uint64_t>> m_blocks;
};

void CudaKernel::run_on_device(const DeviceLaunch &launch) const {
    const Driver &d = driver();
    CudaDevice &device = m_device;
    const Loaded kernel = loaded();
    device.make_current();
    auto memory =
        std::make_shared<Scratch>(device); // what is queued may use it when it is released
    Scratch &scratch = *memory;
    std::vector<uint64_t> constants(m_args.size() + 1);
    std::vector<std::pair<size_t, Buffer *>> on_device; // scalars that the host does not know
    for (size_t i = 0; i < m_args.size(); ++i) {
        const DeviceLaunch::Arg &arg = launch.args[i];
        ArgKind kind = m_args[i].kind;
        if (!arg.buffer) {
            if (!arg.bytes)
                continue;
            constants[i] = scratch.allocate(arg.bytes);
            device.upload(constants[i], arg.host, arg.bytes);
        } else if (kind != ArgKind::Scalar) {
            constants[i] = arg.buffer->device_address(device, kind == ArgKind::Output);
        } else if (arg.buffer->is_on_device()) {
            on_device.push_back({ i, arg.buffer });
        } else {
            std::memcpy(&constants[i], arg.buffer->data(), bytes(m_args[i].type));
        }
    }
    ptx::LogHeader header{ 0, LogBytes };
    if (!m_externs.empty()) {
        uint32_t head = ptx::log_header_bytes(m_externs.size());
        constants.back() = scratch.allocate(head + LogBytes);
        need(d.clear(constants.back(), 0, head, device.stream()), "clearing a log");
        // The first record without room leaves a gap at the end, which must not look like one
        constexpr uint32_t End = 64 << 10;
        need(d.clear(constants.back() + head + LogBytes - End, 0, End, device.stream()),
             "clearing a log");
        device.upload(constants.back(), &header, sizeof(header));
    }
    std::unique_lock lock(device.launch_mutex());
    device.upload(kernel.constants, constants.data(), 8 * constants.size());
    for (auto [i, buffer] : on_device)
        need(d.copy(kernel.constants + 8 * i, buffer->device_address(device), bytes(m_args[i].type),
                    device.stream()),
             "binding arguments");
    uint32_t size = uint32_t(launch.size);
    void *parameters[] = { &size };
    uint64_t lanes = uint64_t(BlockLanes) * m_lanes; // of a block
    auto blocks = unsigned((launch.size + lanes - 1) / lanes);
    device.need_memory( // for local arrays of as many lanes as run at a time
        [&] {
            return d.launch(kernel.function, blocks, 1, 1, BlockLanes, 1, 1, 0, device.stream(),
                            parameters, nullptr);
        },
        "launching a kernel");
    lock.unlock();
    device.note_queued();
    if (m_externs.empty())
        return;
    auto written = std::make_shared<LaunchedLog>(device, constants.back(), m_externs);
    finish_later("the device", [memory, written, log = launch.log] { written->deliver(*log); });
    finish_now(MostUnfinished);
}

// ---- Kernels on disk: the image, and what a launch must know of the program

std::string CudaKernel::save() const {
    std::string out;
    auto put = [&](const void *data, size_t bytes) {
        out.append(static_cast<const char *>(data), bytes);
    };
    auto put_text = [&](const std::string &s) {
        uint64_t n = s.size();
        put(&n, sizeof(n));
        out += s;
    };
    put_text(m_entry);
    put_text(std::to_string(m_lanes));
    put_text(
        std::string(reinterpret_cast<const char *>(m_args.data()), m_args.size() * sizeof(Arg)));
    put_text(m_assembly->image());
    for (const ExternSite &site : m_externs) // what its log is read with; the launch knows the rest
        put_text(char(site.kind) + std::string(reinterpret_cast<const char *>(site.in_types.data()),
                                               site.in_types.size() * sizeof(Type)));
    return out;
}

std::unique_ptr<Kernel> CudaKernel::load(CudaDevice &device, std::string_view bytes) {
    std::vector<std::string> parts;
    while (!bytes.empty()) {
        uint64_t n;
        if (bytes.size() < sizeof(n))
            return nullptr;
        std::memcpy(&n, bytes.data(), sizeof(n));
        bytes.remove_prefix(sizeof(n));
        if (n > bytes.size())
            return nullptr;
        parts.emplace_back(bytes.substr(0, n));
        bytes.remove_prefix(n);
    }
    if (parts.size() < 4 || parts[2].size() % sizeof(Arg))
        return nullptr;
    Outline outline{ parts[0], uint32_t(std::strtoul(parts[1].c_str(), nullptr, 10)), {}, {} };
    if (outline.lanes == 0)
        return nullptr;
    for (const std::string &part : std::span(parts).subspan(4)) {
        if (part.empty() || (part.size() - 1) % sizeof(Type))
            return nullptr;
        ExternSite &site = outline.externs.emplace_back();
        site.kind = ExternSite::Kind(part[0]);
        site.in_types.resize((part.size() - 1) / sizeof(Type));
        std::memcpy(site.in_types.data(), part.data() + 1, part.size() - 1);
    }
    outline.args.resize(parts[2].size() / sizeof(Arg));
    std::memcpy(outline.args.data(), parts[2].data(), parts[2].size());
    auto kernel = std::make_unique<CudaKernel>(device, Assembly::known(std::move(parts[3])),
                                               std::move(outline));
    kernel->loaded(); // a file that the driver does not like is no kernel
    return kernel;
}

} // namespace

// ---- The assembler

std::string assemble_image(CudaDevice &device, const std::string &ptx) {
    const Driver &d = driver();
    device.make_current();
    char log[8192] = {};
    // Functions are assembled at the same time, by all cores, where the driver can do that
    int keys[] = { JitErrorLog, JitErrorLogBytes, JitThreads };
    void *values[] = { log, reinterpret_cast<void *>(uintptr_t(sizeof(log))), nullptr };
    LinkHandle *link = nullptr;
    const std::string what = fmt::format("assembling a kernel of {} KiB", ptx.size() >> 10);
    device.need_memory(
        [&] { return d.link_create(d.version >= JitThreadsVersion ? 3 : 2, keys, values, &link); },
        what);
    struct Close {
        LinkHandle *link;
        ~Close() { driver().link_destroy(link); }
    } close{ link };
    void *image = nullptr;
    size_t bytes = 0;
    Result result = d.link_add(link, InputPtx, const_cast<char *>(ptx.c_str()), ptx.size() + 1,
                               "kernel", 0, nullptr, nullptr);
    if (result == Success)
        result = d.link_complete(link, &image, &bytes);
    if (result == OutOfMemory) // of the host: caches of the device are of no help
        need(result, what.c_str());
    if (result != Success)
        throw InternalError(
            fmt::format("the assembler of the CUDA driver refused a kernel: {}", log));
    return { static_cast<const char *>(image), bytes };
}

ModuleHandle *load_module(CudaDevice &device, const std::string &image) {
    ModuleHandle *module = nullptr;
    device.need_memory([&] { return driver().module_load(&module, image.data()); },
                       fmt::format("loading a kernel of {} KiB", image.size() >> 10));
    return module;
}

namespace {

class CudaBackend final : public Backend {
public:
    explicit CudaBackend(int number) : m_device(number) { m_device.prepare_sums(); }
    const char *name() const override { return "cuda"; }
    std::string fingerprint() const override {
        std::string number = m_device.number() ? fmt::format(" {}", m_device.number()) : "";
        return fmt::format("cuda {} sm_{} {}{}", driver().version, m_device.capability(),
                           m_device.name(), number);
    }
    std::string description() const override {
        int capability = m_device.capability(), version = driver().version;
        return fmt::format("device {}: {}, compute capability {}.{}; a driver for CUDA {}.{}",
                           m_device.number(), m_device.name(), capability / 10, capability % 10,
                           version / 1000, version % 1000 / 10);
    }
    std::unique_ptr<Kernel> compile(const Program &program,
                                    const std::string &kernel_name) override {
        ptx::Text text = ptx::write_module(program, kernel_name);
        return std::make_unique<CudaKernel>(
            m_device, Assembly::start(m_device, std::move(text.ptx)),
            Outline{ std::move(text.entry), text.lanes, program.args, program.externs });
    }
    std::unique_ptr<Kernel> load(std::string_view bytes) override {
        return CudaKernel::load(m_device, bytes);
    }
    Device *device() override { return &m_device; }

private:
    CudaDevice m_device;
};

int chosen_device() {
    const char *text = std::getenv("UMBEL_DEVICE");
    if (!text || !*text)
        return 0;
    char *end = nullptr;
    long number = std::strtol(text, &end, 10);
    if (*end || number < 0 || number > 1024)
        fail("UMBEL_DEVICE: \"{}\" is not the number of a device", text);
    return int(number);
}

} // namespace
} // namespace cuda

bool cuda_is_present() {
    static const bool found = [] {
        const char *text = std::getenv("UMBEL_DEVICE");
        try {
            return cuda::device_is_present(text && *text ? cuda::chosen_device() : -1);
        } catch (const UserError &) { // told when the device is opened
            return true;
        }
    }();
    return found;
}

namespace {
struct Opened {
    std::mutex mutex;
    std::map<int, std::unique_ptr<cuda::CudaBackend>>
        backends; // by number; null: it could not be opened
};
} // namespace

// Never destroyed: kernels may outlive static objects.
static Opened &opened() {
    static auto *o = new Opened;
    return *o;
}

static Backend &cuda_device(int number) {
    std::lock_guard lock(opened().mutex);
    std::unique_ptr<cuda::CudaBackend> &backend = opened().backends[number];
    if (!backend)
        backend = std::make_unique<cuda::CudaBackend>(number);
    return *backend;
}

static std::vector<Device *> opened_devices() {
    std::lock_guard lock(opened().mutex);
    std::vector<Device *> devices;
    for (auto &[number, backend] : opened().backends)
        if (backend)
            devices.push_back(backend->device());
    return devices;
}

void list_cuda_backends(std::vector<BackendEntry> &list) {
    list.push_back({ .name = "cuda",
                     .rank = 3,
                     .open = []() -> Backend & { return cuda_device(cuda::chosen_device()); },
                     .is_present = cuda_is_present,
                     .open_device = cuda_device,
                     .open_devices = opened_devices });
}

} // namespace umbel::jit
