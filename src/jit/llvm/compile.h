// jit/llvm/compile.h: from a program to object code.
#pragma once
#include "jit/llvm/target.h"
#include "jit/program.h"

namespace umbel::jit::llvm_ir {

struct CompiledProgram {
    std::vector<std::string> objects;
    uint32_t heap_bytes; // that each thread needs
};

/// Objects that together define `kernel_name` (an EntryFn, jit/llvm/emit.h); made in parallel.
///
/// `UMBEL_VERIFY=1` checks the IR; `UMBEL_DUMP_LLVM=dir` writes IR and assembly there.
CompiledProgram compile_objects(const Program &program, const std::string &kernel_name,
                                const Target &target);

} // namespace umbel::jit::llvm_ir
