// jit/llvm/image.cpp: links objects into memory; packs them for the disk.
#include "jit/llvm/image.h"
#include "jit/error.h"
#include <cmath>
#include <cstring>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/xxhash.h>

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

class Memory final : public llvm::SectionMemoryManager {
public:
    uint8_t *allocateCodeSection(uintptr_t size, unsigned alignment, unsigned id,
                                 llvm::StringRef name) override {
        code_bytes += size;
        return SectionMemoryManager::allocateCodeSection(size, alignment, id, name);
    }
    uint64_t getSymbolAddress(const std::string &name) override {
        if (uint64_t a = runtime_symbol(name))
            return a;
        return SectionMemoryManager::getSymbolAddress(name);
    }
    // Generated code never unwinds.
    void registerEHFrames(uint8_t *, uint64_t, size_t) override {}
    void deregisterEHFrames() override {}

    size_t code_bytes = 0;
};

class LinkedImage final : public Image {
public:
    LinkedImage(const std::vector<std::string> &objects, const std::string &entry)
        : m_linker(m_memory, m_memory) {
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
    }
    void *entry() const override { return m_entry; }
    size_t code_bytes() const override { return m_memory.code_bytes; }

private:
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
