// jit/background.h: compiling on threads of their own, so that whoever waits for a kernel can leave before it is done.
#pragma once
#include <functional>

namespace umbel::jit {

/// Thrown by those who leave. What they wanted computed can be asked for again: nothing that was recorded is lost.
struct Interrupted {
    virtual ~Interrupted() = default;
};

/// Called every few milliseconds by threads that wait for a kernel to be compiled. An `Interrupted` ends the wait, not the
/// compilation: the kernel will be in the cache. Null, as at first: nobody leaves, and threads compile what they need themselves.
using Look = void (*)();
void set_look(Look look);
Look current_look();

/// Runs the work, which must not throw, on a thread of its own. The end of the process waits for it. False: there is no thread.
bool run_in_background(std::function<void()> work);
/// DeviceError while the process ends: nobody is going to run what is being compiled. Asked between parts of the work.
void leave_if_unwanted();

} // namespace umbel::jit
