// ad/custom.h: operations whose derivatives their author supplies.
#pragma once
#include "ad/tape.h"
#include <span>

namespace umbel::ad {

/// A function of values with its own derivatives. Subclasses compute in `eval` with detached values and
/// may keep what they need in members. `forward` reads grad_in and calls set_grad_out; `backward` reads
/// grad_out and calls set_grad_in. Both run with the scopes in force when `eval` ran.
class CustomOp : public Operation {
public:
    virtual std::vector<Value> eval(std::span<const Value> inputs) = 0;

protected:
    /// Registers a value that `eval` reads besides its inputs; returns its input number. Call in `eval`.
    size_t add_input(const Value &v);
    /// The gradient of input i; zeros where none has arrived.
    Value grad_in(size_t i) const;
    Value grad_out(size_t k) const;
    void set_grad_out(size_t k, const Value &gradient);
    void set_grad_in(size_t i, const Value &gradient);
    bool needs_grad_in(size_t i) const { return inputs[i] != 0; }
    /// Nodes that were made before and depend on the operation; they become its last outputs.
    std::vector<GradId> m_written;

private:
    friend std::vector<Value> custom(std::shared_ptr<CustomOp> op, std::span<const Value> inputs);
    struct Shape {
        Type type;
        uint32_t size;
    };
    std::vector<Shape> m_in, m_out;
    std::vector<Value> m_implicit; // held until the operation is connected
    Tape *m_tape = nullptr;
};

/// Applies the operation; the results depend on the inputs through it.
std::vector<Value> custom(std::shared_ptr<CustomOp> op, std::span<const Value> inputs);

} // namespace umbel::ad
