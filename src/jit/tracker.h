// jit/tracker.h: how a layer above follows operations on values that carry a gradient id.
//
// A value without a gradient id costs one comparison. Where an operand carries one, the function of the
// same name hands over to the context's tracker, which computes the result from detached operands and
// notes what it needs. The differentiation layer is the only implementation.
#pragma once
#include "jit/op.h"
#include "jit/type.h"
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace umbel::jit {

class Value;
using GradId = uint32_t; // 0: none

namespace detail {
using Body = std::function<void()>;
using Condition = std::function<Value()>;
using Branch = std::function<std::vector<Value>()>;
/// Traces instance number i (from 0) and returns its results; nothing for a number that is free.
using Callee = std::function<std::optional<std::vector<Value>>(uint32_t)>;
} // namespace detail

class Tracker {
public:
    virtual ~Tracker() = default;
    virtual void retain(GradId id) = 0;
    virtual void release(GradId id) = 0;
    /// Whether any gradient id is alive: control flow goes through the tracker then.
    virtual bool following() const = 0;

    /// Op::Neg to Op::Select; `type` is the result's.
    virtual Value elementwise(Op op, Type type, std::span<const Value *const> operands) = 0;
    virtual Value gather(const Value &source, const Value &index, const Value &mask) = 0;
    virtual std::vector<Value> gather_packet(const Value &source, const Value &index, uint32_t n,
                                             const Value &mask) = 0;
    virtual void scatter(Value &target, const Value &value, const Value &index, const Value &mask,
                         ReduceOp op) = 0;
    virtual Value local_array(const Value &initial, uint32_t length) = 0;
    virtual Value local_get(const Value &array, const Value &index, const Value &mask) = 0;
    virtual Value local_set(const Value &array, const Value &index, const Value &value,
                            const Value &mask) = 0;
    virtual Value reduce(ReduceOp op, const Value &v) = 0;
    virtual Value block_reduce(ReduceOp op, const Value &v, uint32_t block) = 0;
    virtual Value prefix_sum(const Value &v, bool exclusive, uint32_t block) = 0;
    virtual Value dot(const Value &a, const Value &b) = 0;
    virtual void loop(const char *name, const std::vector<Value *> &state,
                      const detail::Condition &condition, const detail::Body &body) = 0;
    virtual std::vector<Value> if_(const char *name, const Value &condition,
                                   const detail::Branch &then_branch,
                                   const detail::Branch &else_branch) = 0;
    virtual std::vector<Value> call(const char *name, const Value &id, const Value &mask,
                                    const std::vector<Value *> &args, uint32_t instances,
                                    const detail::Callee &callee) = 0;
};

} // namespace umbel::jit
