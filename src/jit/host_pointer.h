// jit/host_pointer.h: pointers of the host as values, for functions of the host that kernels call.
#pragma once
#include "jit/array.h"
#include <memory>

namespace umbel::jit {

/// Data of the program: another pointer does not mean another program. Whoever made it keeps it as long as the pointer is
/// valid; a recording (jit/recording.h) of launches that use it is stale once it is gone. An `owner` lives until the
/// last recorded call with the pointer is forgotten, whether it ran or not.
Value host_pointer(void *p, std::shared_ptr<void> owner = {});
/// As the other call_host; `user` is a host pointer.
std::vector<Value> call_host(std::string name, ExternFn fn, const Value &user,
                             std::span<const Value> inputs, std::span<const Type> outputs,
                             const Value &mask, bool effect = false);

} // namespace umbel::jit
