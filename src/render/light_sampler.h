// render/light_sampler.h: which of a scene's lights a path connects to.
#pragma once
#include "render/dispatch.h"
#include "render/emitter.h"
#include <optional>

namespace umbel {

/// What a choice among lights rests on.
struct LightSummary {
    double weight = 0; // its sampling weight, times its power where that counts
    bool is_local =
        false; // lies in a box; what surrounds the scene, or shines along one direction, does not
    BoundingBox box;
    NormalCone normals;      // of surfaces that emit to the front; those of a point are all
    double cos_emission = 0; // of the greatest angle to a normal at which light leaves
    /// Of one that is not local: how often connections choose it, for each time that they choose one that is.
    double share = 1;
};

class LightSampler {
public:
    struct Choice {
        UInt32 emitter; // its number in the table; 0 if no light can reach the place
        Float pmf;
        Float rest; // what is left of the number that made the choice, again uniform in [0, 1)
        /// 0 where there is none to choose.
        Float inverse_pmf() const;
    };

    virtual ~LightSampler() = default;
    /// For a connection from `it`. Its normal counts, unless it is zero.
    virtual Choice choose(const Interaction &it, const Float &u, const Mask &active) const = 0;
    /// Probability of that choice; 0 for no emitter.
    virtual Float pmf(const Interaction &it, const UInt32 &emitter, const Mask &active) const = 0;
    /// For a ray that leaves the light, wherever it goes.
    virtual Choice choose_source(const Float &u, const Mask &active) const = 0;
    virtual Float source_pmf(const UInt32 &emitter, const Mask &active) const = 0;
};

/// Watts that each light sends out, over all channels or wavelengths alike: an estimate where the emission varies, and the mean of
/// all others where a light cannot tell.
std::vector<double> emitted_power(const Table<Emitter> &lights);

/// The words that scenes choose by.
extern const std::vector<std::string> LightSamplerNames;
/// Among the lights of a scene; null if there are none.
std::unique_ptr<LightSampler> make_light_sampler(std::span<const LightSummary> lights, bool tree);

/// Keeps the sampler of a scene true to its lights.
class LightChoice {
public:
    /// One of LightSamplerNames.
    std::string kind = "auto";
    /// To be called when lights may have changed, or the box around the scene. Complains in the name of `owner` if none may be chosen.
    void update(const Table<Emitter> &lights, const Object &owner, const BoundingBox &scene = {});
    const LightSampler *operator->() const { return m_sampler.get(); }
    explicit operator bool() const { return m_sampler != nullptr; }

private:
    std::vector<LightSummary> summarize(const Table<Emitter> &lights, bool power) const;
    void update_power(const Table<Emitter> &lights, const BoundingBox &scene);

    std::vector<double> m_power;           // of each light; empty where it does not count
    std::optional<uint64_t> m_power_known; // a hash of what that follows from
    std::optional<uint64_t> m_known;       // a hash of what the sampler was made of
    std::unique_ptr<LightSampler> m_sampler;
};

} // namespace umbel
