// jit/cuda/ptx_dump.h: programs as PTX in files, for those who look at them, and for tests on machines without a GPU.
#pragma once
#include "jit/program.h"

namespace umbel::jit::ptx {

/// Writes NAME.ptx to the folder that UMBEL_PTX_FOLDER names; without it, or where the program cannot run on a GPU, nothing.
void dump(const Program &program, const std::string &name);

} // namespace umbel::jit::ptx
