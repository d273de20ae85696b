// core/before_changes.h: results that must be computed before objects change.
#pragma once
#include "core/float.h"
#include <span>

namespace umbel {

/// Of calls of the host that look at objects as they are when a kernel runs, not as they were when the call was recorded. What
/// somebody still holds of them is computed before SceneParameters::update() changes an object.
class BeforeChanges {
public:
    BeforeChanges();
    ~BeforeChanges();
    BeforeChanges(const BeforeChanges &) = delete;
    BeforeChanges &operator=(const BeforeChanges &) = delete;

    /// Of one context, which outlives this.
    void add(std::span<const Value> results);
    /// Computes them, and waits for kernels that are under way.
    void finish();
    /// All that there are.
    static void finish_all();

private:
    jit::Context *m_context = nullptr;
    std::vector<jit::Context::LiveNode>
        m_pending; // no references: what nobody holds is never computed
    size_t m_prune_at = 64;
};

} // namespace umbel
