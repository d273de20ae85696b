// render/drops_effects.h: launches that fail leave nothing behind.
#pragma once
#include "jit/context.h"
#include <exception>

namespace umbel {

/// What was recorded since, if an exception ends it: evaluated later, it would use a scene that may be gone by then.
class DropsEffects {
public:
    ~DropsEffects() {
        if (std::uncaught_exceptions() > m_exceptions)
            std::erase_if(m_context.graph.region(0).effects, [&](jit::NodeId id) {
                bool is_new = m_context.graph[id].seq >= m_begun;
                if (is_new)
                    m_context.graph.release(id);
                return is_new;
            });
    }

private:
    jit::Context &m_context = jit::Context::current();
    uint64_t m_begun = m_context.graph.sequence();
    int m_exceptions = std::uncaught_exceptions();
};

} // namespace umbel
