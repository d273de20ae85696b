// jit/host_call.h: host functions that kernels call, with what they need to live as long as the calls.
#pragma once
#include "jit/array.h"
#include <memory>

namespace umbel::jit {

/// Like call_host() of jit/array.h, but `user` lives until the last recorded call is forgotten, whether it ran or not.
std::vector<Value> call_host(std::string name, ExternFn fn, std::shared_ptr<void> user,
                             std::span<const Value> inputs, std::span<const Type> outputs,
                             const Value &mask, bool effect = false);

} // namespace umbel::jit
