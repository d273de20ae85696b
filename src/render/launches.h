// render/launches.h: launches of renders, kept to be run again without tracing them.
//
// Tracing is what starting a launch costs, and grows with the number of objects in the scene. So the steps of a render
// trace a launch of each size once, and so do all renders of a scene that nobody changes in between.
#pragma once
#include "core/traverse.h"
#include "jit/recording.h"
#include "render/sensor.h"
#include <list>
#include <map>

namespace umbel {

class Integrator;

class Launches {
public:
    /// What launches are traced from, besides the scene and what is data of theirs.
    struct Source {
        Ref<const Integrator> integrator;
        Ref<const Sensor> sensor;
        Ref<const Sampler> sampler; // of the sensor
        std::array<int, 4> window;  // what is rendered of its film: x, y, width, height
        int spp;
        bool estimate_error;
        bool operator==(const Source &) const = default;
    };
    explicit Launches(Source source);

    bool is_of(const Source &source) const { return m_source == source && !is_outdated(); }
    /// Whether anything has changed since that it may depend on.
    bool is_outdated() const;
    /// The sensor's sampler, or one like it with another count: it has data that depends on it.
    const Ref<const Sampler> &sampler() const { return m_sampler; }
    /// What `trace` returns, from a recording of the last time that it was called for so many pixels.
    std::vector<Value> run(uint32_t pixels, std::span<const Value> inputs,
                           const std::function<std::vector<Value>()> &trace);

private:
    Source m_source;
    Ref<const Sampler> m_sampler;
    const jit::Context *m_context;
    uint32_t m_flags;
    uint64_t m_changes;                                             // see changes()
    uint64_t m_flushed;                                             // see jit::flushed_kernels()
    std::map<uint32_t, std::shared_ptr<jit::Recording>> m_recorded; // by number of pixels
};

/// The launches of a scene's latest renders.
class LaunchCache {
public:
    std::shared_ptr<Launches> find(const Launches::Source &source);
    void clear() { m_latest.clear(); }

private:
    static constexpr size_t Most = 4;
    std::list<std::shared_ptr<Launches>> m_latest; // the latest first
};

} // namespace umbel
