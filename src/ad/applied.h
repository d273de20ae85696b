// ad/applied.h: custom operations inside of bodies that are recorded.
//
// Bodies of loops, branches and calls run again for their derivatives, and so does what they apply. Replays know an
// operation by the nodes of its results, which nothing else is.
#pragma once
#include "ad/custom.h"
#include <unordered_map>

namespace umbel::ad {

/// A custom operation that can be part of a body.
class RepeatableOp : public CustomOp {
public:
    /// The same operation, to be applied once more; without what `eval` kept.
    virtual std::shared_ptr<CustomOp> again() const = 0;
};

/// One that a body applies.
class AppliedOp {
public:
    AppliedOp(class AppliedOps &all, std::shared_ptr<RepeatableOp> op, std::vector<Value> inputs,
              std::vector<Value> outputs);
    ~AppliedOp();
    AppliedOp(const AppliedOp &) = delete;

    const std::shared_ptr<RepeatableOp> op;
    const std::vector<Value> inputs, outputs; // as the body computes them

private:
    AppliedOps &m_all;
};

/// All of them by their results.
class AppliedOps {
public:
    const AppliedOp *find(jit::NodeId id) const {
        auto it = m_by_result.find(id);
        return it == m_by_result.end() ? nullptr : it->second;
    }

private:
    friend class AppliedOp;
    std::unordered_map<jit::NodeId, const AppliedOp *> m_by_result;
};

} // namespace umbel::ad
