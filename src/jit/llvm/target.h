// jit/llvm/target.h: the machine that code is made for.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace umbel::jit::llvm_ir {

struct Target {
    std::string triple, cpu, features;
    uint32_t width;      // lanes of a packet
    bool mask_registers; // AVX-512: a mask is a register of bits, not a vector
    bool permutes;       // AVX2: words of a vector in any order, by one instruction
    bool fast_gathers;   // they take less time than loads of the elements one by one
};

/// The host. For tests, `UMBEL_WIDTH` (4, 8, 16) overrides the width, and `UMBEL_CPU` asks for code
/// that an older CPU than the host could run, by a name that LLVM knows, say x86-64-v3.
Target host_target();

/// Everything that object code depends on besides the program.
std::string fingerprint(const Target &target);

/// A target machine from a pool, since making one costs as much as compiling a small kernel.
class MachineLease {
public:
    explicit MachineLease(const Target &target);
    ~MachineLease();
    MachineLease(const MachineLease &) = delete;
    MachineLease &operator=(const MachineLease &) = delete;
    llvm::TargetMachine &operator*() const { return *m_machine; }
    llvm::TargetMachine *operator->() const { return m_machine.get(); }

private:
    std::string m_key;
    std::unique_ptr<llvm::TargetMachine> m_machine;
};

} // namespace umbel::jit::llvm_ir
