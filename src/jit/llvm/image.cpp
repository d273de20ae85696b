// jit/llvm/image.cpp: links objects into memory; packs them for the disk.
#include "jit/llvm/image.h"
#include "jit/error.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Memory.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/xxhash.h>
#include <sys/mman.h>
#include <unistd.h>

namespace umbel::jit::llvm_ir {

namespace {

// What generated code may call on machines that lack the instruction. Found here first, so that a
// statically linked program needs no dynamic symbol table.
uint64_t runtime_symbol(std::string_view name) {
    struct Entry {
        const char *name;
        void *address;
    };
    static const Entry table[] = {
        { "memset", (void *)&std::memset },
        { "memcpy", (void *)&std::memcpy },
        { "memmove", (void *)&std::memmove },
        { "fmaf", (void *)static_cast<float (*)(float, float, float)>(&::fmaf) },
        { "fma", (void *)static_cast<double (*)(double, double, double)>(&::fma) },
        { "floorf", (void *)static_cast<float (*)(float)>(&::floorf) },
        { "floor", (void *)static_cast<double (*)(double)>(&::floor) },
        { "ceilf", (void *)static_cast<float (*)(float)>(&::ceilf) },
        { "ceil", (void *)static_cast<double (*)(double)>(&::ceil) },
        { "truncf", (void *)static_cast<float (*)(float)>(&::truncf) },
        { "trunc", (void *)static_cast<double (*)(double)>(&::trunc) },
        { "rintf", (void *)static_cast<float (*)(float)>(&::rintf) },
        { "rint", (void *)static_cast<double (*)(double)>(&::rint) },
    };
    for (const Entry &e : table)
        if (name == e.name)
            return uint64_t(e.address);
    return 0;
}

// One span of address space for all sections of an image: code from its start, data from its middle.
// The code reaches its data and its other objects with 32-bit displacements, so they must lie
// together; separate mappings can end up on both sides of a reservation of many gigabytes.
class Memory final : public llvm::RTDyldMemoryManager {
public:
    explicit Memory(size_t object_bytes) {
        // Sections take little more than their objects; what is not touched costs nothing.
        m_half = m_code_end = round_up(2 * object_bytes + (size_t(1) << 20), page());
        m_data_end = 2 * m_half;
        void *p = mmap(nullptr, 2 * m_half, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            throw DeviceError(
                fmt::format("llvm backend: no {} MiB of address space for a kernel's code: {}",
                            2 * m_half >> 20, std::strerror(errno)));
        m_base = static_cast<uint8_t *>(p);
    }
    ~Memory() override {
        unmap(0, m_code_end);
        unmap(m_half, m_data_end);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    uint8_t *allocateCodeSection(uintptr_t size, unsigned alignment, unsigned,
                                 llvm::StringRef) override {
        return take(m_code, 0, size, alignment);
    }
    uint8_t *allocateDataSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef,
                                 bool) override {
        return take(m_data, m_half, size, alignment);
    }
    bool finalizeMemory(std::string *error) override {
        // Generated code writes to buffers and its stack only; what lies unused is given back.
        size_t code = round_up(m_code, page()), data = round_up(m_data, page());
        unmap(code, m_half);
        unmap(m_half + data, 2 * m_half);
        m_code_end = code;
        m_data_end = m_half + data;
        if ((code && mprotect(m_base, code, PROT_READ | PROT_EXEC)) ||
            (data && mprotect(m_base + m_half, data, PROT_READ))) {
            *error = std::strerror(errno);
            return true;
        }
        llvm::sys::Memory::InvalidateInstructionCache(m_base, m_code);
        return false;
    }
    uint64_t getSymbolAddress(const std::string &name) override {
        if (uint64_t a = runtime_symbol(name))
            return a;
        return RTDyldMemoryManager::getSymbolAddress(name);
    }
    // Generated code never unwinds.
    void registerEHFrames(uint8_t *, uint64_t, size_t) override {}
    void deregisterEHFrames() override {}

    size_t code_bytes() const { return m_code; }
    uint64_t code_end() const { return reinterpret_cast<uint64_t>(m_base + m_code); }

private:
    static size_t page() { return size_t(sysconf(_SC_PAGESIZE)); }
    static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

    uint8_t *take(size_t &used, size_t start, size_t size, size_t alignment) {
        size_t at = round_up(used, std::max<size_t>(alignment, 16));
        if (at + size > m_half)
            return nullptr; // the linker says so and aborts
        used = at + size;
        return m_base + start + at;
    }

    void unmap(size_t begin, size_t end) {
        if (begin < end)
            munmap(m_base + begin, end - begin);
    }

    uint8_t *m_base;
    size_t m_half, m_code = 0, m_data = 0; // the halves' size, and how much of each is taken
    size_t m_code_end, m_data_end;         // where what is mapped of each ends
};

size_t total_size(const std::vector<std::string> &parts) {
    size_t n = 0;
    for (const std::string &p : parts)
        n += p.size();
    return n;
}

class LinkedImage final : public Image {
public:
    LinkedImage(const std::vector<std::string> &objects, const std::string &entry)
        : m_memory(total_size(objects)), m_linker(m_memory, m_memory) {
        for (const std::string &bytes : objects) {
            auto object = llvm::object::ObjectFile::createObjectFile(
                llvm::MemoryBufferRef(bytes, "umbel kernel"));
            if (!object)
                throw DeviceError("llvm backend: " + llvm::toString(object.takeError()));
            m_linker.loadObject(**object);
            if (m_linker.hasError())
                throw DeviceError("llvm backend: " + m_linker.getErrorString().str());
        }
        m_linker.resolveRelocations();
        std::string error;
        if (m_linker.hasError())
            throw DeviceError("llvm backend: " + m_linker.getErrorString().str());
        if (m_memory.finalizeMemory(&error))
            throw DeviceError("llvm backend: cannot make code executable: " + error);
        m_entry = (void *)m_linker.getSymbol(entry).getAddress();
        if (!m_entry)
            throw DeviceError(fmt::format("llvm backend: object code lacks \"{}\"", entry));
        if (const char *s = std::getenv("UMBEL_PERF_MAP"); s && *s)
            tell_perf();
    }
    void *entry() const override { return m_entry; }
    size_t code_bytes() const override { return m_memory.code_bytes(); }

private:
    // Linux's profiler finds the names of generated functions here.
    void tell_perf() {
        std::map<uint64_t, std::string> functions;
        for (auto &[name, symbol] : m_linker.getSymbolTable())
            functions[symbol.getAddress()] = name.str();
        std::ofstream map(fmt::format("/tmp/perf-{}.map", getpid()), std::ios::app);
        for (auto it = functions.begin(); it != functions.end(); ++it) {
            uint64_t end =
                std::next(it) == functions.end() ? m_memory.code_end() : std::next(it)->first;
            map << fmt::format("{:x} {:x} {}\n", it->first, end - it->first, it->second);
        }
    }

    Memory m_memory;
    llvm::RuntimeDyld m_linker;
    void *m_entry = nullptr;
};

constexpr char Magic[8] = { 'u', 'm', 'b', 'e', 'l', 'l', 'l', 'v' };

void put(std::string &s, uint64_t v) { s.append(reinterpret_cast<const char *>(&v), sizeof v); }

bool get(std::string_view &s, uint64_t &v) {
    if (s.size() < sizeof v)
        return false;
    std::memcpy(&v, s.data(), sizeof v);
    s.remove_prefix(sizeof v);
    return true;
}

} // namespace

std::unique_ptr<Image> link(const std::vector<std::string> &objects, const std::string &entry) {
    return std::make_unique<LinkedImage>(objects, entry);
}

// magic, format, checksum of the rest, number of parts, then for each its length and bytes
std::string pack(const std::vector<std::string> &parts) {
    std::string body;
    put(body, parts.size());
    for (const std::string &p : parts) {
        put(body, p.size());
        body += p;
    }
    std::string blob(Magic, sizeof Magic);
    put(blob, ImageFormat);
    put(blob, llvm::xxh3_64bits(body));
    return blob + body;
}

bool unpack(std::string_view blob, std::vector<std::string> &parts) {
    uint64_t format, checksum, count;
    if (blob.size() < sizeof Magic || std::memcmp(blob.data(), Magic, sizeof Magic) != 0)
        return false;
    blob.remove_prefix(sizeof Magic);
    if (!get(blob, format) || format != ImageFormat || !get(blob, checksum) ||
        llvm::xxh3_64bits(llvm::StringRef(blob)) != checksum || !get(blob, count))
        return false;
    parts.clear();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size;
        if (!get(blob, size) || size > blob.size())
            return false;
        parts.emplace_back(blob.substr(0, size));
        blob.remove_prefix(size);
    }
    return blob.empty();
}

} // namespace umbel::jit::llvm_ir
