// jit/host_call.h: calls of host functions that add to arrays from within kernels.
#pragma once
#include "jit/array.h"
#include <memory>

namespace umbel::jit {

/// Number of the block of lanes that the calling thread runs for a kernel. Which lanes are in a block depends
/// on the kernel and its size alone, and one thread runs them in order: what a host function keeps for each block
/// and combines in their order does not depend on the number of threads.
uint32_t current_block();
constexpr uint32_t MaxBlocks = 128;

/// What a host function gathers while a kernel runs, and adds to arrays when it has ended.
class HostEffect {
public:
    virtual ~HostEffect() = default;
    virtual void finish(std::span<void *const> targets) = 0;
};

/// Calls `fn` for each packet, with `effect` as `user`, then effect->finish(targets) once. Sums in floats: other
/// pending sums into the same targets may come before or after.
void call_host_adding(std::string name, ExternFn fn, std::shared_ptr<HostEffect> effect,
                      std::span<Value *const> targets, std::span<const Value> inputs,
                      const Value &mask);

} // namespace umbel::jit
