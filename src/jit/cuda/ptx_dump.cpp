// jit/cuda/ptx_dump.cpp: see jit/cuda/ptx_dump.h.
#include "jit/cuda/ptx_dump.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/error.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

namespace umbel::jit::ptx {

void dump(const Program &program, const std::string &name) {
    static const char *folder = std::getenv("UMBEL_PTX_FOLDER");
    if (!folder || !*folder)
        return;
    std::string file = fmt::format("{}/{}.ptx", folder, name), part;
    std::error_code error; // of files that others write to, too: the next one will do
    if (std::filesystem::exists(file, error))
        return;
    try {
        std::string text = write_module(program, name).ptx;
        part = fmt::format("{}.{:08x}", file, std::random_device()());
        std::ofstream(part) << text;
    } catch (const UserError &) { // it calls functions of the host
        return;
    }
    std::filesystem::rename(part, file, error);
}

} // namespace umbel::jit::ptx
