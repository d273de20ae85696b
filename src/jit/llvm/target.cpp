// jit/llvm/target.cpp: host detection and the pool of target machines.
#include "jit/llvm/target.h"
#include "jit/llvm/image.h"
#include <algorithm>
#include <cstdlib>
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <map>
#include <mutex>
#include <new>
#include <vector>
// After LLVM, which has functions called `check`.
#include "jit/error.h"

namespace umbel::jit::llvm_ir {

namespace {

// Without these, LLVM ends the process. They are called without locks, and its functions have unwind tables; objects of the frames
// that are skipped stay as they are, which Work in compile.cpp copes with.
void raise_failures() {
    llvm::install_bad_alloc_error_handler(
        [](void *, const char *, bool) { throw std::bad_alloc(); });
    llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
        throw InternalError(fmt::format("llvm backend: {}", reason));
    });
}

Target detect() {
    static std::once_flag once; // also where what follows fails, and is tried again
    std::call_once(once, raise_failures);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    Target t;
    t.triple = llvm::sys::getProcessTriple();
    t.cpu = llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> names;
    for (const auto &f : found)
        names.push_back((f.second ? "+" : "-") + f.first().str());
    // A string map has no order of its own, and the fingerprint must not change between runs.
    std::sort(names.begin(), names.end(),
              [](const std::string &a, const std::string &b) { return a.substr(1) < b.substr(1); });
    for (const std::string &n : names)
        t.features += (t.features.empty() ? "" : ",") + n;
    auto has = [&](const char *name) {
        auto it = found.find(name);
        return it != found.end() && it->second;
    };
    t.mask_registers = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    t.permutes = has("avx2");
    t.width = t.mask_registers ? 16 : t.permutes ? 8 : 4;
    // AMD's are programs of some 80 steps: whole records by loads gain 2 % of a render
    t.fast_gathers = t.mask_registers && !t.cpu.starts_with("znver");
    return t;
}

struct Pool {
    std::mutex mutex;
    std::map<std::string, std::vector<std::unique_ptr<llvm::TargetMachine>>>
        free; // by CPU and features
};

// Never destroyed: kernels may still be compiled while static objects go down.
Pool &pool() {
    static Pool *p = new Pool;
    return *p;
}

} // namespace

Target host_target() {
    static const Target host = detect();
    Target t = host;
    if (const char *s = std::getenv("UMBEL_CPU"); s && *s) {
        t.cpu = s;
        t.features.clear();
        t.mask_registers = t.fast_gathers = t.cpu == "x86-64-v4";
        t.permutes = t.mask_registers || t.cpu == "x86-64-v3";
        t.width = t.mask_registers ? 16 : t.permutes ? 8 : 4;
    }
    if (const char *s = std::getenv("UMBEL_WIDTH"); s && *s) {
        int w = std::atoi(s);
        if (w != 4 && w != 8 && w != 16)
            fail("UMBEL_WIDTH: \"{}\" is not a width; use 4, 8 or 16", s);
        t.width = uint32_t(w);
    }
    return t;
}

std::string fingerprint(const Target &t) {
    return fmt::format("llvm-{} format-{} {} {} {:016x} width-{}", LLVM_VERSION_STRING, ImageFormat,
                       t.triple, t.cpu, llvm::xxh3_64bits(t.features), t.width);
}

MachineLease::MachineLease(const Target &target) : m_key(target.cpu + " " + target.features) {
    {
        std::lock_guard lock(pool().mutex);
        auto &free = pool().free[m_key];
        if (!free.empty()) {
            m_machine = std::move(free.back());
            free.pop_back();
            return;
        }
    }
    std::string error;
    const llvm::Target *t = llvm::TargetRegistry::lookupTarget(target.triple, error);
    if (!t)
        throw DeviceError(fmt::format("llvm backend: {}", error));
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    options.EmulatedTLS = false;
    m_machine.reset(t->createTargetMachine(target.triple, target.cpu, target.features, options,
                                           llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                           llvm::CodeGenOptLevel::Default, /* JIT */ true));
    if (!m_machine)
        throw DeviceError(fmt::format("llvm backend: no code generator for {}", target.triple));
}

MachineLease::~MachineLease() {
    std::lock_guard lock(pool().mutex);
    pool().free[m_key].push_back(std::move(m_machine));
}

} // namespace umbel::jit::llvm_ir
