// render/launches.cpp: recording launches, and when they are of use no longer.
#include "render/launches.h"
#include <algorithm>

namespace umbel {

Launches::Launches(Source source)
    : m_source(std::move(source)), m_sampler(m_source.sampler), m_context(&jit::Context::current()),
      m_flags(m_context->flags()), m_changes(changes()), m_flushed(jit::flushed_kernels()) {
    if (m_source.spp == m_sampler->sample_count())
        return;
    Ref<Sampler> own = m_sampler->clone();
    own->set_sample_count(m_source.spp);
    m_sampler = own;
}

bool Launches::is_outdated() const {
    return m_context != &jit::Context::current() || m_flags != m_context->flags() ||
           m_changes != changes() || m_flushed != jit::flushed_kernels();
}

std::vector<Value> Launches::run(uint32_t pixels, std::span<const Value> inputs,
                                 const std::function<std::vector<Value>()> &trace) {
    if (is_outdated()) { // in the middle of a render
        m_recorded.clear();
        m_flags = m_context->flags();
        m_changes = changes();
        m_flushed = jit::flushed_kernels();
    }
    std::shared_ptr<jit::Recording> &known = m_recorded[pixels];
    if (known && !known->stale())
        return known->replay(inputs);
    jit::Recorder recorder(jit::Context::current(), inputs, true);
    std::vector<Value> results = trace();
    known = recorder.finish(results);
    return results;
}

std::shared_ptr<Launches> LaunchCache::find(const Launches::Source &source) {
    auto it = std::find_if(m_latest.begin(), m_latest.end(),
                           [&](const auto &l) { return l->is_of(source); });
    if (it == m_latest.end())
        m_latest.push_front(std::make_shared<Launches>(source));
    else
        m_latest.splice(m_latest.begin(), m_latest, it);
    std::erase_if(m_latest, [](const auto &l) { return l->is_outdated(); });
    if (m_latest.size() > Most)
        m_latest.pop_back();
    return m_latest.front();
}

} // namespace umbel
