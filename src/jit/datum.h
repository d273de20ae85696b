// jit/datum.h: numbers of the host that take part in programs, without being a node all the time.
//
// A scene has millions of numbers that never change, and a node takes more than ten times as much memory as one. Such a
// number becomes a node while a program that uses it is traced. Records of instances take it by value.
#pragma once
#include "jit/value.h"

namespace umbel::jit {

/// The node that a number was last; no reference. Whether it is still there can be told.
struct DatumNode {
    NodeId node = 0;
    uint32_t seq = 0; // the low half of it
};

/// The number as a value of the calling thread's context: data, not part of the program. The same node while anything uses
/// it; `last` remembers which.
Value datum(Type type, uint64_t bits, DatumNode &last);

} // namespace umbel::jit
