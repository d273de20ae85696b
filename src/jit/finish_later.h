// jit/finish_later.h: jobs of streams that end before what they have given a device to do.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace umbel::jit {

/// Called in a job. `fn` waits for a device, then does what is left to do: in the order of these calls, before anybody who
/// synchronizes with the stream goes on. What it throws is an error of the stream, with that name. Outside of jobs, `fn` is called at
/// once. With a `key`, nothing where one with that key is left already.
void finish_later(std::string name, std::function<void()> fn, const void *key = nullptr);
/// Does it now, in a job, the first ones first, until so many without a key are left; 0: all.
void finish_now(size_t but = 0);

} // namespace umbel::jit
