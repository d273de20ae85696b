// core/before_changes.cpp: see core/before_changes.h.
#include "core/before_changes.h"
#include <algorithm>
#include <mutex>
#include <unordered_set>

namespace umbel {

namespace {

struct All {
    std::mutex mutex;
    std::unordered_set<BeforeChanges *> set;
};
All &all() {
    static All &a = *new All; // objects may outlive what is static
    return a;
}

} // namespace

BeforeChanges::BeforeChanges() {
    std::lock_guard lock(all().mutex);
    all().set.insert(this);
}

BeforeChanges::~BeforeChanges() {
    std::lock_guard lock(all().mutex);
    all().set.erase(this);
}

void BeforeChanges::add(std::span<const Value> results) {
    if (results.empty() || results[0].context().region != 0)
        return; // part of a body, which is computed as a whole
    m_context = &results[0].context();
    for (const Value &v : results)
        m_pending.push_back({ v.id(), v.node().seq });
    if (m_pending.size() < m_prune_at)
        return;
    std::erase_if(m_pending, [&](const auto &node) { return !m_context->is_live(node); });
    m_prune_at = std::max<size_t>(64, 2 * m_pending.size());
}

void BeforeChanges::finish() {
    if (m_pending.empty())
        return;
    std::vector<Value> values;
    std::vector<const Value *> needed;
    for (const auto &node : m_pending)
        if (m_context->is_live(node))
            values.push_back(Value::share(*m_context, node.node));
    for (const Value &v : values)
        needed.push_back(&v);
    m_pending.clear();
    jit::eval(std::span<const Value *const>(needed));
    m_context->synchronize();
}

void BeforeChanges::finish_all() {
    std::vector<BeforeChanges *> every;
    {
        std::lock_guard lock(all().mutex);
        every.assign(all().set.begin(), all().set.end());
    }
    for (BeforeChanges *b : every)
        b->finish();
}

} // namespace umbel
