// jit/cuda/ptx_emit.h: a program as the text of a PTX module.
//
// A lane is a thread. What changes between launches lies in a block of constants, `args`, eight bytes an argument: the address
// of an array, or a scalar itself; behind the last one the address of the launch's log (LogHeader). Lanes that are not active in
// a region do not run it, so that masks which only say that are known to be true.
#pragma once
#include "jit/program.h"
#include <string>

namespace umbel::jit::ptx {

/// What kernels write messages and calls of host functions to that return nothing: records of 16 bytes
/// {u32 site, u32 bytes of the record, u64 lane} and the inputs, 8 bytes each.
struct LogHeader {
    // Bytes that lanes asked for, this header not counted. Lanes that see no room ask for none: it exceeds the capacity by what lanes
    // ask for at one time, at most, and cannot wrap around.
    uint32_t used = 0;
    uint32_t capacity = 0;
};
constexpr uint32_t LogRecordBytes = 16;
/// Of each of the program's sites, whether there is room or not. Failed assertions have no record: this is all that there is to say.
struct LogTally {
    uint32_t count = 0;      // of messages, calls, failures
    uint32_t first_lane = 0; // that failed, all its bits turned around; 0: none
};
/// The header and the tallies.
constexpr uint32_t log_header_bytes(size_t sites) {
    return uint32_t((sizeof(LogHeader) + sizeof(LogTally) * sites + 15) / 16 * 16);
}

struct Text {
    std::string ptx;
    std::string entry;
    uint32_t lanes = 1; // of a thread: see lanes_of_a_thread
};

/// Lowest architecture that the text asks for, and the version of PTX that it is written in.
constexpr const char *TargetArchitecture = "sm_70", *PtxVersion = "7.0";

/// A thread of 4 bytes from memory has too few of them under way for a GPU's bandwidth, 16 are enough: so in short programs
/// without control flow, a thread takes several lanes, a block's width apart. Those past the last are the last one once more.
uint32_t lanes_of_a_thread(const Program &program);

/// The module of a program; its entry takes the number of lanes (u32). A UserError where the program calls functions of the
/// host that return something.
Text write_module(const Program &program, const std::string &kernel_name);

} // namespace umbel::jit::ptx
