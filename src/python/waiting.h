// python/waiting.h: waiting for kernels while other threads run and signals are heard; the end of the process.
#pragma once
#include "python/objects.h"

namespace umbel::python {

/// Until all kernels of the context have run. Signals are heard meanwhile: Ctrl-C raises KeyboardInterrupt, and the kernels go on.
void wait_for(Context &c);
/// The same in the middle of an operation: other threads run, but those that would use arrays wait until the operation goes on.
void wait_inside(Context &c);
/// The same between two operations: other threads' go on to their end first.
void wait_between(Context &c);
/// From now on, Ctrl-C raises KeyboardInterrupt also while a kernel is compiled, which goes on in the background.
void hear_interrupts();
/// Waits for the kernels of all contexts, or cancels them: at once, or when a signal raises an exception. Other threads end
/// now, or at their first operation. False: the process is a fork, and nothing that its parent's kernels use can be let go.
bool finish(bool cancel);
/// Ends the calling thread by SystemExit once another one has called finish().
void leave_if_ending();

} // namespace umbel::python
