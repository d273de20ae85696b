// jit/cuda/backend.cpp: kernels for NVIDIA's GPUs: PTX that the driver's own assembler turns into code.
#include "jit/backends.h"
#include "jit/cuda/device.h"
#include "jit/cuda/kernel_log.h"
#include "jit/cuda/module.h"
#include "jit/cuda/present.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/error.h"
#include "jit/finish_later.h"
#include <cstdlib>
#include <cstring>
#include <span>

namespace umbel::jit {
namespace cuda {
namespace {

constexpr unsigned BlockLanes = 128;
constexpr uint32_t LogBytes = 8 << 20;
constexpr size_t MostUnfinished = 16; // launches whose logs were not read yet

class CudaKernel final : public Kernel {
public:
    CudaKernel(CudaDevice &device, std::string image, std::string entry, std::vector<Arg> args,
               std::vector<ExternSite> externs)
        : m_device(device), m_image(std::move(image)), m_entry(std::move(entry)),
          m_args(std::move(args)), m_externs(std::move(externs)) {
        const Driver &d = driver();
        m_device.make_current();
        need(d.module_load(&m_module, m_image.data()), "loading a kernel");
        need(d.module_function(&m_function, m_module, m_entry.c_str()), "finding a kernel");
        size_t bytes = 0;
        need(d.module_global(&m_constants, &bytes, m_module, "args"),
             "finding a kernel's arguments");
    }
    ~CudaKernel() override {
        // At the end of the process the driver may have gone before: then it refuses, and there is nothing left to unload
        if (m_module && driver().context_set(m_device.context()) == Success) {
            driver().stream_wait(m_device.stream()); // it may be queued
            driver().module_unload(m_module);
        }
    }

    void run(const Launch &, uint64_t, uint64_t) const override { check(false); }
    void run_on_device(const DeviceLaunch &launch) const override;
    uint32_t width() const override { return 32; }
    size_t code_bytes() const override { return m_image.size(); }
    std::string save() const override;
    static std::unique_ptr<Kernel> load(CudaDevice &device, std::string_view bytes);

private:
    CudaDevice &m_device;
    std::string m_image, m_entry;
    std::vector<Arg> m_args;
    std::vector<ExternSite> m_externs;
    ModuleHandle *m_module = nullptr;
    FunctionHandle *m_function = nullptr;
    DeviceAddress m_constants = 0;
};

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
    m_device.make_current();
    auto memory = std::make_shared<Scratch>(m_device); // what is queued may use it when it is released
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
            m_device.upload(constants[i], arg.host, arg.bytes);
        } else if (kind != ArgKind::Scalar) {
            constants[i] = arg.buffer->device_address(m_device, kind == ArgKind::Output);
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
        need(d.clear(constants.back(), 0, head, m_device.stream()), "clearing a log");
        // The first record without room leaves a gap at the end, which must not look like one
        constexpr uint32_t End = 64 << 10;
        need(d.clear(constants.back() + head + LogBytes - End, 0, End, m_device.stream()),
             "clearing a log");
        m_device.upload(constants.back(), &header, sizeof(header));
    }
    std::unique_lock lock(m_device.launch_mutex());
    m_device.upload(m_constants, constants.data(), 8 * constants.size());
    for (auto [i, buffer] : on_device)
        need(d.copy(m_constants + 8 * i, buffer->device_address(m_device), bytes(m_args[i].type),
                    m_device.stream()),
             "binding arguments");
    uint32_t size = uint32_t(launch.size);
    void *parameters[] = { &size };
    auto blocks = unsigned((launch.size + BlockLanes - 1) / BlockLanes);
    need(d.launch(m_function, blocks, 1, 1, BlockLanes, 1, 1, 0, m_device.stream(), parameters,
                  nullptr),
         "launching a kernel");
    lock.unlock();
    m_device.note_queued();
    if (m_externs.empty())
        return;
    auto written = std::make_shared<LaunchedLog>(m_device, constants.back(), m_externs);
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
    put_text(
        std::string(reinterpret_cast<const char *>(m_args.data()), m_args.size() * sizeof(Arg)));
    put_text(m_image);
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
    if (parts.size() < 3 || parts[1].size() % sizeof(Arg))
        return nullptr;
    std::vector<ExternSite> externs;
    for (const std::string &part : std::span(parts).subspan(3)) {
        if (part.empty() || (part.size() - 1) % sizeof(Type))
            return nullptr;
        ExternSite &site = externs.emplace_back();
        site.kind = ExternSite::Kind(part[0]);
        site.in_types.resize((part.size() - 1) / sizeof(Type));
        std::memcpy(site.in_types.data(), part.data() + 1, part.size() - 1);
    }
    std::vector<Arg> args(parts[1].size() / sizeof(Arg));
    std::memcpy(args.data(), parts[1].data(), parts[1].size());
    return std::make_unique<CudaKernel>(device, std::move(parts[2]), std::move(parts[0]),
                                        std::move(args), std::move(externs));
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
    need(d.link_create(d.version >= JitThreadsVersion ? 3 : 2, keys, values, &link),
         "starting the assembler");
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
    if (result != Success)
        throw InternalError(
            fmt::format("the assembler of the CUDA driver refused a kernel: {}", log));
    return { static_cast<const char *>(image), bytes };
}

namespace {

class CudaBackend final : public Backend {
public:
    explicit CudaBackend(int number) : m_device(number) {}
    const char *name() const override { return "cuda"; }
    std::string fingerprint() const override {
        return fmt::format("cuda {} sm_{} {}", driver().version, m_device.capability(),
                           m_device.name());
    }
    std::unique_ptr<Kernel> compile(const Program &program,
                                    const std::string &kernel_name) override {
        ptx::Text text = ptx::write_module(program, kernel_name);
        return std::make_unique<CudaKernel>(m_device, assemble_image(m_device, text.ptx),
                                            text.entry, program.args, program.externs);
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

bool cuda_is_present() { return cuda::library_is_present(); }

Backend &cuda_backend() {
    // Never destroyed: kernels may outlive static objects.
    static cuda::CudaBackend *backend = new cuda::CudaBackend(cuda::chosen_device());
    return *backend;
}

void list_cuda_backends(std::vector<BackendEntry> &list) {
    list.push_back({ .name = "cuda",
                     .rank = 3,
                     .open = cuda_backend,
                     .is_present = cuda::library_is_present });
}

} // namespace umbel::jit
