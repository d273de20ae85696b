// render/emitter.h: sources of light.
#pragma once
#include "render/endpoint.h"
#include <atomic>

namespace umbel {

class Emitter : public Endpoint {
public:
    static constexpr const char *Kind = "emitter";

    void declare(Params &p) override {
        p.number("sampling_weight", m_sampling_weight, 1, 0)
            .doc("How often the light is chosen, relative to others, when a path connects to one");
        declare_medium(p);
    }
    void changed(std::span<const std::string>) override {
        touch();
        configure();
    }
    void children_changed(std::span<const std::string>) override {
        touch();
        child_changed();
    }
    void attach(const Shape *) override {
        complain("cannot be attached to a shape; use an `area` emitter");
    }

    /// Whether it surrounds the scene, and is seen by rays that meet nothing.
    bool is_environment() const { return has(EndpointFlags::Infinite) && !is_delta(); }
    /// Whether no ray can hit it by chance: points, directions.
    bool is_delta() const { return has(EndpointFlags::Delta); }
    double sampling_weight() const { return m_sampling_weight; }
    /// Another number after each change of its parameters, unlike that of any other emitter. Its shape counts on its own.
    uint64_t revision() const { return m_revision; }
    /// Where light goes that leaves it.
    struct Directions {
        NormalCone normals;      // all, where nothing is known
        double cos_emission = 0; // of the greatest angle to a normal; 0 is that of surfaces
    };
    virtual Directions directions() const { return {}; }
    /// Whether paths that arrive at a place can be connected to it: to a beam they cannot.
    virtual bool is_connectable() const { return true; }
    /// Whether sample_ray() is defined; scripts may leave it out.
    virtual bool sends_rays() const { return true; }

protected:
    /// Of classes that have a changed() of their own.
    void touch() { m_revision = ++s_revisions; }

    /// sample_wavelengths() of light that a texture describes.
    static std::pair<Wavelengths, Spectrum> sample_emission(const Texture &texture,
                                                            SurfaceInteraction si, const Float &u,
                                                            const Mask &active);

private:
    static inline std::atomic<uint64_t> s_revisions = 0;

    double m_sampling_weight = 1;
    uint64_t m_revision = ++s_revisions;
};

} // namespace umbel
