// ad/ad.h: differentiation of recorded programs, forward and in reverse.
//
//     Float32 x = ...;
//     enable_grad(x);
//     Float32 y = sin(x) * x;
//     backward(y);                 // dy/dx, summed over what y's lanes give to x's
//     Float32 dx = grad(x);
#pragma once
#include "ad/custom.h"
#include "ad/tape.h"
#include "jit/control.h"
#include <source_location>

namespace umbel::ad {

/// The tape of the current context.
Tape &tape();

// ---- values
/// Starts following a float value: operations on it are noted from now on. Listings name it by its label
/// and by the line of this call.
void enable_grad(Value &v, std::string label = {},
                 std::source_location where = std::source_location::current());
void disable_grad(Value &v);
bool grad_enabled(const Value &v);
/// The gradient; zeros where none has arrived.
Value grad(const Value &v);
void set_grad(Value &v, const Value &gradient);
void accumulate_grad(Value &v, const Value &gradient);
void clear_grad(Value &v);
Value detach(const Value &v);
/// The primal value of `a` with the derivatives of `b`.
Value replace_grad(const Value &a, const Value &b);

template <class T> jit::Array<T> grad(const jit::Array<T> &a) {
    return jit::Array<T>(grad(static_cast<const Value &>(a)));
}
template <class T> jit::Array<T> detach(const jit::Array<T> &a) {
    return jit::Array<T>(detach(static_cast<const Value &>(a)));
}
template <class T> jit::Array<T> replace_grad(const jit::Array<T> &a, const jit::Array<T> &b) {
    return jit::Array<T>(replace_grad(static_cast<const Value &>(a), b));
}

// ---- traversal
void enqueue(Mode mode, const Value &v);
void traverse(Mode mode, uint32_t clear = ClearAll);
/// Sets the gradient of `y` to 1 and propagates it to all that it depends on.
void backward(Value &y, uint32_t clear = ClearAll);
void backward_from(Value &y, uint32_t clear = ClearAll); // with the gradient that y has
/// Propagates gradients that were set on results, along paths that lead to `x` only; returns x's.
Value backward_to(const Value &x, uint32_t clear = ClearAll);
/// Sets the gradient of `x` to 1 and propagates it to all that depends on it.
void forward(Value &x, uint32_t clear = ClearAll);
void forward_from(Value &x, uint32_t clear = ClearAll); // with the gradient that x has
Value forward_to(const Value &y, uint32_t clear = ClearAll);

/// Derivatives are asked for in a recorded body that is differentiated as a whole. Who records on behalf of a
/// script can suspend the latter and try again.
struct InsideBody : UserError {
    using UserError::UserError;
};

// ---- scopes, ended by their destructors
/// Follows nothing (no arguments), or no longer the values given.
class SuspendGrad {
public:
    explicit SuspendGrad(std::initializer_list<const Value *> values = {}) { enter(values, true); }
    ~SuspendGrad();

protected:
    explicit SuspendGrad(std::initializer_list<const Value *> values, bool suspend) {
        enter(values, suspend);
    }
    void enter(std::initializer_list<const Value *> values, bool suspend);
};
/// Follows everything again (no arguments), or also the values given.
class ResumeGrad : public SuspendGrad {
public:
    explicit ResumeGrad(std::initializer_list<const Value *> values = {})
        : SuspendGrad(values, false) {}
};
/// Traversals inside stop one step beyond the scope; they go on when it ends, unless an exception ends it.
class IsolateGrad {
public:
    IsolateGrad();
    ~IsolateGrad() noexcept(false);
    /// Ends the scope now. What it postponed goes on, which may throw, or is dropped.
    void end(bool is_given_up);

private:
    int m_exceptions;
    bool m_has_ended = false;
};

/// Gradients that lanes add to an array which they share leave out those lanes where they are NaN or infinite: one would spoil
/// what all others have added. `note` is called with a mask of them where they are recorded; of those in loops, branches and calls,
/// by `tell`.
class FiniteSums {
public:
    explicit FiniteSums(Tape::NoteLanes note);
    ~FiniteSums() { tape().left_out = std::move(m_before); }
    /// Calls `note` with a mask of one lane: whether lanes of bodies were left out.
    void tell();
    FiniteSums(const FiniteSums &) = delete;
    FiniteSums &operator=(const FiniteSums &) = delete;

private:
    Tape::LeftOut m_before;
};

/// What is left of the graph of derivatives, a line a node; empty after a backward pass with default
/// flags once all values are gone.
std::string listing();
/// Graphviz drawing of the graph.
std::string dot();
size_t live_nodes();

} // namespace umbel::ad
