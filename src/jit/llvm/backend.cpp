// jit/llvm/backend.cpp: the llvm backend: kernels that run, are saved and are loaded again.
#include "jit/backends.h"
#include "jit/buffer.h"
#include "jit/error.h"
#include "jit/llvm/compile.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/image.h"
#include <cstring>
#include <exception>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace umbel::jit {

namespace llvm_ir {

namespace {

/// The error of what compiled code called is raised when that has returned; till then, nothing else is called.
struct Run : Context {
    mutable std::exception_ptr error;
};

template <class F> void guarded(const Context *c, F &&f) noexcept {
    const Run &run = *static_cast<const Run *>(c);
    if (run.error)
        return;
    try {
        f();
    } catch (...) {
        run.error = std::current_exception();
    }
}

void print(const Context *c, uint64_t site, uint64_t first, uint64_t lanes, const int32_t *mask,
           const void *frame) {
    guarded(c, [&] {
        if (c->log)
            static_cast<LaunchLog *>(c->log)->print(uint32_t(site), first, uint32_t(lanes), mask,
                                                    frame);
    });
}

void assertion(const Context *c, uint64_t site, uint64_t first, uint64_t lanes,
               const int32_t *mask) {
    guarded(c, [&] {
        if (c->log)
            static_cast<LaunchLog *>(c->log)->assertion(uint32_t(site), first, uint32_t(lanes),
                                                        mask);
    });
}

void host(const Context *c, ExternFn fn, void *user, uint64_t first, uint64_t lanes,
          const int32_t *mask, void *frame) {
    guarded(c, [&] { fn(user, first, uint32_t(lanes), mask, frame); });
}

/// Launches of so many lanes stream their outputs. Reading a result of fewer soon afterwards costs more
/// than that gains; from here on, both gain (saxpy: 1.5 times as fast at 2^24 lanes, two in a row 1.4).
constexpr uint64_t StreamedLanes = 1 << 22;

/// Streamed stores become visible to others in no order, until this.
void finish_streaming() {
#ifdef __x86_64__
    _mm_sfence();
#endif
}

/// An argument that kernels read at the lane.
struct InputArg {
    uint32_t number, bytes;
};

class LlvmKernel final : public Kernel {
public:
    LlvmKernel(CompiledProgram program, std::string entry, uint32_t width, uint32_t args,
               std::vector<InputArg> inputs)
        : m_objects(std::move(program.objects)), m_name(std::move(entry)), m_width(width),
          m_args(args), m_heap_bytes(program.heap_bytes), m_inputs(std::move(inputs)),
          m_image(link(m_objects, m_name)), m_entry(reinterpret_cast<EntryFn>(m_image->entry())) {}

    void run(const Launch &launch, uint64_t begin, uint64_t end) const override {
        BufferRef heap = m_heap_bytes ? allocate(m_heap_bytes) : nullptr;
        Run context{ { launch.log, print, assertion, host, heap ? heap->data() : nullptr,
                       launch.size >= StreamedLanes },
                     nullptr };
        uint64_t full = begin + (end - begin) / m_width * m_width;
        if (full > begin)
            m_entry(launch.args, &context, begin, full);
        if (full < end)
            run_tail(launch, context, full, end);
        if (context.streaming)
            finish_streaming();
        if (context.error)
            std::rethrow_exception(context.error);
    }

    std::string save() const override {
        std::string header(4 * (HeaderWords + 2 * m_inputs.size()), '\0');
        std::vector<uint32_t> words = { m_width, m_args, m_heap_bytes, 0 };
        for (const InputArg &i : m_inputs) {
            words.push_back(i.number);
            words.push_back(i.bytes);
        }
        std::memcpy(header.data(), words.data(), header.size());
        std::vector<std::string> parts = { fingerprint(host_target()), m_name, header };
        parts.insert(parts.end(), m_objects.begin(), m_objects.end());
        return pack(parts);
    }

    static std::unique_ptr<Kernel> load(std::string_view bytes) {
        std::vector<std::string> parts;
        Target target = host_target();
        if (!unpack(bytes, parts) || parts.size() < 4 || parts[0] != fingerprint(target))
            return nullptr;
        std::vector<uint32_t> words(parts[2].size() / 4);
        if (words.size() < HeaderWords || words.size() % 2 || parts[2].size() % 4)
            return nullptr;
        std::memcpy(words.data(), parts[2].data(), parts[2].size());
        if (words[0] != target.width && words[0] != 2 * target.width)
            return nullptr;
        std::vector<InputArg> inputs;
        for (size_t k = HeaderWords; k < words.size(); k += 2) {
            if (words[k] >= words[1])
                return nullptr;
            inputs.push_back({ words[k], words[k + 1] });
        }
        std::string entry = std::move(parts[1]);
        uint32_t args = words[1];
        parts.erase(parts.begin(), parts.begin() + 3);
        return std::make_unique<LlvmKernel>(CompiledProgram{ std::move(parts), words[2] },
                                            std::move(entry), words[0], args, std::move(inputs));
    }

    uint32_t width() const override { return m_width; }
    size_t code_bytes() const override { return m_image->code_bytes(); }

private:
    static constexpr size_t HeaderWords = 4;

    // The last packet reads W elements of each input, more than there may be: it gets copies.
    void run_tail(const Launch &launch, const Context &context, uint64_t begin,
                  uint64_t end) const {
        std::vector<void *> args(launch.args, launch.args + m_args);
        std::vector<uint64_t> room(m_inputs.size() * m_width); // 8 bytes a lane for each input
        char *copy = reinterpret_cast<char *>(room.data());
        for (const InputArg &i : m_inputs) {
            const char *from = static_cast<const char *>(launch.args[i.number]) + begin * i.bytes;
            std::memcpy(copy, from, (end - begin) * i.bytes);
            // So that element `begin` is the first one copied.
            args[i.number] =
                reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(copy) - begin * i.bytes);
            copy += 8 * m_width;
        }
        m_entry(args.data(), &context, begin, end);
    }

    std::vector<std::string> m_objects;
    std::string m_name;
    uint32_t m_width, m_args, m_heap_bytes;
    std::vector<InputArg> m_inputs;
    std::unique_ptr<Image> m_image;
    EntryFn m_entry;
};

class LlvmBackend final : public Backend {
public:
    const char *name() const override { return "llvm"; }
    std::string fingerprint() const override { return llvm_ir::fingerprint(host_target()); }

    std::unique_ptr<Kernel> compile(const Program &program,
                                    const std::string &kernel_name) override {
        Target target = host_target();
        target.width = packet_width(program, target);
        std::vector<InputArg> inputs;
        for (uint32_t a = 0; a < program.args.size(); ++a)
            if (program.args[a].kind == ArgKind::Input)
                inputs.push_back({ a, uint32_t(bytes(program.args[a].type)) });
        return std::make_unique<LlvmKernel>(compile_objects(program, kernel_name, target),
                                            kernel_name, target.width,
                                            uint32_t(program.args.size()), std::move(inputs));
    }

    std::unique_ptr<Kernel> load(std::string_view bytes) override {
        return LlvmKernel::load(bytes);
    }
};

} // namespace

} // namespace llvm_ir

Backend &llvm_backend() {
    // Never destroyed: kernels may outlive static objects.
    static llvm_ir::LlvmBackend *backend = new llvm_ir::LlvmBackend;
    return *backend;
}

void list_llvm_backends(std::vector<BackendEntry> &list) {
    list.push_back({ .name = "llvm", .rank = 0, .open = llvm_backend });
}

} // namespace umbel::jit
