// jit/background_kernel.h: kernels that other threads still work on when Backend::compile returns.
#pragma once
#include "jit/backend.h"

namespace umbel::jit {

/// Its code_bytes() are, before it is ready, those of what it is made from.
class BackgroundKernel : public Kernel {
public:
    /// Waits, and throws what those threads did. Launches do so themselves.
    virtual void make_ready() const = 0;
    virtual bool is_ready() const = 0;
    /// That they took.
    virtual double background_seconds() const = 0;
};

} // namespace umbel::jit
