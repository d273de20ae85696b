// jit/cuda/ptx_dump.cpp: see jit/cuda/ptx_dump.h.
#include "jit/cuda/ptx_dump.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/error.h"
#include <cstdlib>
#include <fstream>

namespace umbel::jit::ptx {

void dump(const Program &program, const std::string &name) {
    static const char *folder = std::getenv("UMBEL_PTX_FOLDER");
    if (!folder || !*folder)
        return;
    try {
        std::ofstream(fmt::format("{}/{}.ptx", folder, name)) << write_module(program, name).ptx;
    } catch (const UserError &) { // it calls functions of the host
    }
}

} // namespace umbel::jit::ptx
