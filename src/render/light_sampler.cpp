// render/light_sampler.cpp: lights chosen by weights alone, and what all ways of choosing need to know of lights.
#include "render/light_sampler.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "render/light_tree.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace umbel {

const std::vector<std::string> LightSamplerNames = { "auto", "uniform", "power", "tree" };

namespace {

/// From so many lights on, `auto` is a tree: it costs a few percent of a frame, and choosing badly costs more.
constexpr size_t ManyLights = 16;

/// The same probabilities wherever one stands.
class WeightedLights final : public LightSampler {
public:
    explicit WeightedLights(std::span<const LightSummary> lights) : m_count(lights.size()) {
        std::vector<double> weights = { 0 };
        for (const LightSummary &l : lights)
            weights.push_back(l.weight);
        m_table = AliasTable(std::span(weights).subspan(1));
        double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (double &w : weights)
            w /= sum;
        m_pmf = float_array(weights);
    }

    Choice choose(const Interaction &, const Float &u, const Mask &active) const override {
        return choose_source(u, active);
    }
    Float pmf(const Interaction &, const UInt32 &emitter, const Mask &active) const override {
        return source_pmf(emitter, active);
    }
    Float source_pmf(const UInt32 &emitter, const Mask &active) const override {
        return m_count == 1 ? Float(1) : Float(jit::gather(m_pmf, emitter, active));
    }
    Choice choose_source(const Float &u, const Mask &active) const override {
        if (m_count == 1) // a single light needs no choice
            return { UInt32(1u), Float(1), u };
        auto [index, rest] = m_table.sample_reuse(u, active);
        UInt32 number = index + UInt32(1u);
        return { number, Float(jit::gather(m_pmf, number, active)), rest };
    }

private:
    size_t m_count;
    AliasTable m_table;
    Float m_pmf; // by number
};

} // namespace

Float LightSampler::Choice::inverse_pmf() const { return select(pmf > 0, rcp(pmf), Float(0)); }

std::unique_ptr<LightSampler> make_light_sampler(std::span<const LightSummary> lights, bool tree) {
    if (lights.empty())
        return nullptr;
    if (tree && lights.size() > 1)
        return make_light_tree(lights);
    return std::make_unique<WeightedLights>(lights);
}

// What leaves a light is the mean of what its rays carry, over their density. As many rays a light as memory has room for; of a
// light that does not vary, one would do.
static std::vector<double> emitted_power(const Table<Emitter> &lights, uint32_t rays) {
    uint32_t n = uint32_t(lights.objects().size());
    UInt32 lane(jit::lane_index(n * rays)), number = lane / UInt32(rays) + UInt32(1u);
    UInt32 ray = lane % UInt32(rays);
    auto part = [&](double step) { // of a sequence that fills the unit cube evenly [Roberts 2018]
        Float x = (Float(ray) + 0.5) * step;
        return x - floor(x);
    };
    Float u[5] = { part(0.8566748838545029), part(0.733891856627126), part(0.6287067210378087),
                   part(0.5385972572236101), part(0.4614018816179586) };
    Spectrum weight =
        lights.call("emitter.sample_ray", number, Mask(true), black(), [&](const Emitter &e) {
            return e.sample_ray(Float(0), u[0], { u[1], u[2] }, { u[3], u[4] }, Mask(true)).second;
        });
    Float carried = max(mean(unpolarized(weight)), Float(0)) * (1.0 / rays);
    return read_floats(Float(jit::block_reduce(jit::ReduceOp::Add, carried.detached(), rays)));
}

std::vector<double> emitted_power(const Table<Emitter> &lights) {
    ad::SuspendGrad fixed;
    std::vector<size_t> told; // lights of which rays tell
    for (size_t i = 0; i < lights.objects().size(); ++i)
        if (lights.objects()[i]->sends_rays())
            told.push_back(i);
    size_t n = told.size();
    uint32_t rays = uint32_t(std::clamp<size_t>((1u << 18) / std::max<size_t>(n, 1), 1, 64));
    // Some at a time: what is computed of a light's numbers alone are nodes, of which all lights would have many at once
    constexpr size_t AtOnce = 1024;
    constexpr double Unknown = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> out(lights.objects().size(), Unknown);
    for (size_t first = 0; first < n; first += AtOnce) {
        Table<Emitter> some;
        for (size_t i = first; i < std::min(n, first + AtOnce); ++i)
            some.append(lights.objects()[told[i]]);
        std::vector<double> watts = emitted_power(some, rays);
        for (size_t i = 0; i < watts.size(); ++i)
            out[told[first + i]] = watts[i];
    }
    double sum = 0, known = 0;
    for (double w : out)
        if (std::isfinite(w))
            sum += w, ++known;
    for (double &w : out)
        if (!std::isfinite(w))
            w = known > 0 ? sum / known : 1;
    return out;
}

// Power says little about what surrounds the scene: each such light counts as much as all lamps together, times what its sampling
// weight is to theirs. Lamps without a place count by their power.
static void set_shares(const Table<Emitter> &lights, std::span<LightSummary> summaries) {
    auto surrounds = [](const Emitter &e) { return e.has(EndpointFlags::Infinite); };
    double lamps = 0, sampling_weights = 0, weights = 0, local = 0;
    for (size_t i = 0; i < summaries.size(); ++i) {
        const Emitter &e = *lights.objects()[i];
        if (surrounds(e) || !e.is_connectable())
            continue;
        ++lamps;
        sampling_weights += e.sampling_weight();
        weights += summaries[i].weight;
        local += summaries[i].is_local ? summaries[i].weight : 0;
    }
    double unit = local > 0     ? local
                  : weights > 0 ? weights
                                : 1,
           lamp = lamps > 0 && sampling_weights > 0 ? sampling_weights / lamps : 1;
    for (size_t i = 0; i < summaries.size(); ++i) {
        const Emitter &e = *lights.objects()[i];
        double all = weights > 0 ? weights / unit : 1;
        summaries[i].share = !e.is_connectable() ? 0
                             : surrounds(e)      ? e.sampling_weight() / lamp * all
                                                 : summaries[i].weight / unit;
    }
}

std::vector<LightSummary> LightChoice::summarize(const Table<Emitter> &lights, bool power) const {
    std::vector<LightSummary> out;
    const std::vector<double> &watts = m_power;
    double least = 0;
    if (power) {
        // Dark lights are chosen, too: they have derivatives, and may be bright where no ray was tried
        double mean = std::accumulate(watts.begin(), watts.end(), 0.0) / double(watts.size());
        least = mean > 0 ? 1e-3 * mean : 1;
    }
    for (const Emitter *e : lights.objects()) {
        LightSummary l;
        l.weight = e->sampling_weight();
        if (power) {
            l.weight *= std::max(watts[out.size()], least);
            if (!e->has(EndpointFlags::Infinite | EndpointFlags::DeltaDirection))
                l.box = e->bounds();
            // Scripts need not say where their lights are
            l.is_local = e->is_connectable() && !l.box.is_empty();
            auto [normals, cos_emission] = e->directions();
            l.normals = normals;
            l.cos_emission = cos_emission;
        }
        out.push_back(l);
    }
    if (power)
        set_shares(lights, out);
    return out;
}

namespace {
struct Hash {
    uint64_t h = 0;

    void add(uint64_t v) { // [Steele 2014]
        h = (h ^ v) * 0x9e3779b97f4a7c15ull;
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
        h ^= h >> 27;
    }
    void add(double v) { add(std::bit_cast<uint64_t>(v)); }
    void add(const BoundingBox &b) {
        for (size_t j = 0; j < 3; ++j) {
            add(b.min[j]);
            add(b.max[j]);
        }
    }
};
} // namespace

static uint64_t hash(std::span<const LightSummary> lights, bool tree) {
    Hash h{ tree };
    for (const LightSummary &l : lights) {
        h.add(l.weight);
        h.add(uint64_t(l.is_local));
        h.add(l.box);
        h.add(l.normals.cosine);
        for (double v : l.normals.axis)
            h.add(v);
        h.add(l.cos_emission);
        h.add(l.share);
    }
    return h.h;
}

// A launch, and the wait for it: after changes of lights alone, not of materials. What surrounds the scene sends the more into it the
// larger it is.
void LightChoice::update_power(const Table<Emitter> &lights, const BoundingBox &scene) {
    Hash h;
    bool is_told = true; // of changes; scripts may differ each time
    for (const Emitter *e : lights.objects()) {
        h.add(e->revision());
        if (e->shape())
            h.add(uint64_t(e->shape()->revision()));
        if (e->has(EndpointFlags::Infinite))
            h.add(scene);
        is_told &= !e->is_scripted();
    }
    if (is_told && m_power_known == h.h)
        return;
    m_power = emitted_power(lights);
    m_power_known = h.h;
}

void LightChoice::update(const Table<Emitter> &lights, const Object &owner,
                         const BoundingBox &scene) {
    bool tree = kind == "tree" || (kind == "auto" && lights.objects().size() >= ManyLights);
    bool power = tree || kind == "power";
    if (power)
        update_power(lights, scene);
    std::vector<LightSummary> now = summarize(lights, power);
    uint64_t known = hash(now, tree);
    if (m_known == known)
        return;
    auto has_weight = [](const LightSummary &l) { return l.weight > 0; };
    if (!now.empty() && std::none_of(now.begin(), now.end(), has_weight))
        owner.complain(
            "the sampling weights of all lights are zero; give one of them a positive one");
    m_known = known;
    m_sampler = make_light_sampler(now, tree);
}

} // namespace umbel
