// render/marching.cpp: see marching.h.
#include "render/marching.h"
#include "ad/ad.h"
#include "render/channel_choice.h"

namespace umbel {

namespace {

constexpr double Opaque = 80;      // an optical depth: no single-precision number is left of light
constexpr double LeastStep = 1e-6; // of the way through the medium

/// A ray on its way from step to step.
class March {
public:
    struct State {
        Float t;        // where the step begins
        Spectrum depth; // optical, up to there
        // Extinction at the step's begin, middle and end
        Spectrum left, middle, right;
        Mask active, found;
        UMBEL_STRUCT(t, depth, left, middle, right, active, found)
    };

    March(const Medium &medium, const Ray &ray, const Medium::Extent &e,
          const MediumInteraction &begin, const Float &step, const Mask &active)
        : m_medium(medium), m_ray(ray), m_begin(begin), m_end(e.maxt) {
        // Shorter ones would come to millions, or not get on at all so far away
        Float length = max(e.maxt - e.mint, 0),
              precision = m_end * (variant().double_precision ? 0x1p-50 : 0x1p-21),
              least = max(max(step, length * LeastStep), precision),
              count = max(ceil(length / least), 1);
        width = Float(ad::detach(length / count));
        Mask enters = active & e.is_met & (length > 0);
        state = { e.mint, Spectrum(0), extinction(e.mint, enters), Spectrum(0), Spectrum(0),
                  enters, Mask(false) };
    }

    /// Until a channel, or each if none is given, has more than this depth, or to the end of the medium.
    void run(const Float &depth, const UInt32 *channel) {
        state = jit::loop(
            state, [](const State &s) { return s.active; },
            [&](State &s) {
                s.middle = extinction(s.t + 0.5 * width, s.active);
                s.right = extinction(s.t + width, s.active);
                Spectrum after = s.depth + depth_of(s);
                Mask ends(true);
                for (size_t k = 0; !channel && k < after.c.size(); ++k)
                    ends = ends & (Float(ad::detach(after[k])) > depth);
                if (channel)
                    ends = Float(ad::detach(channel_of(after, *channel))) > depth;
                s.found = s.active & ends;
                s.active = s.active & !ends & (s.t + 1.5 * width < m_end);
                s.depth = select(ends, s.depth, after);
                s.t = select(ends, s.t, s.t + width);
                s.left = select(ends, s.left, s.right);
            },
            "march");
    }

    MediumInteraction at(const Float &t) const {
        MediumInteraction mei = m_begin;
        mei.t = t;
        mei.p = m_ray(t);
        return mei;
    }
    Spectrum extinction(const Float &t, const Mask &active) const {
        return m_medium.extinction(at(t), active);
    }
    /// Of a step [Simpson].
    Spectrum depth_of(const State &s) const {
        return (s.left + s.middle * Spectrum(4) + s.right) * (width * (1.0 / 6));
    }

    State state;
    Float width; // of all steps of a ray

private:
    const Medium &m_medium;
    const Ray &m_ray;
    const MediumInteraction &m_begin;
    Float m_end;
};

/// The extinction inside a step, as distances are sampled from it: linear in each half.
struct Inside {
    Float left, middle, right, width, scale;

    Inside(const March &m, const Spectrum &depth, size_t c)
        : left(m.state.left[c]), middle(m.state.middle[c]), right(m.state.right[c]),
          width(m.width) {
        Float linear = (left + 2 * middle + right) * (width * 0.25);
        scale = depth[c] / select(linear > 0, linear, Float(1));
    }
    Float half() const { return 0.5 * width; }
    Float first_half() const { return scale * (left + middle) * (width * 0.25); }
    /// Extinction and optical depth at a distance from the step's begin.
    std::pair<Float, Float> at(const Float &y) const {
        Mask late = y > half();
        Float from = select(late, middle, left), to = select(late, right, middle),
              z = select(late, y - half(), y), slope = (to - from) / half();
        return { scale * (from + slope * z),
                 select(late, first_half(), Float(0)) + scale * z * (from + 0.5 * slope * z) };
    }
    /// Where it reaches a depth.
    Float invert(const Float &depth) const {
        Mask late = depth > first_half();
        Float from = select(late, middle, left), to = select(late, right, middle),
              rest = select(late, depth - first_half(), depth) / scale,
              root = sqrt(max(from * from + 2 * (to - from) / half() * rest, 0));
        Float z = min(2 * rest / (from + root), half());
        return select(late, half(), Float(0)) + select(rest > 0, z, Float(0));
    }
};

} // namespace

MediumSample march_sample(const Medium &medium, const Ray &ray, const Medium::Extent &e,
                          const MediumInteraction &begin, const Float &step, SampleStream &sampler,
                          const Mask &active, const UInt32 *channel) {
    bool one = variant().channels() == 1 || !medium.has_spectral_extinction();
    UInt32 c = one ? UInt32(0u) : channel ? *channel : choose_channel(sampler.next_1d());
    Float depth = -log(1 - sampler.next_1d());
    March march(medium, ray, e, begin, step, active);
    march.run(depth, &c);
    const March::State &s = march.state;

    // The distance into the last step, for the chosen channel; then what that means for all
    Spectrum of_step = march.depth_of(s);
    Float y(0);
    for (size_t k = 0; k < of_step.c.size(); ++k) {
        Float z = Inside(march, of_step, k).invert(depth - s.depth[k]);
        y = k == 0 ? z : select(c == UInt32(uint32_t(k)), z, y);
    }
    y = Float(ad::detach(select(s.found, y, Float(0))));
    Spectrum tr(0), pdf(0);
    for (size_t k = 0; k < of_step.c.size(); ++k) {
        auto [sigma, passed] = Inside(march, of_step, k).at(y);
        tr[k] = exp(-(s.depth[k] + select(s.found, passed, Float(0))));
        pdf[k] = select(s.found, tr[k] * sigma, tr[k]);
    }

    MediumSample out;
    Float density = channel || one ? channel_of(pdf, c) : mean(pdf);
    out.weight = over(tr, density);
    out.ratio = Spectrum(1);
    out.passing_ratio = Float(1);
    out.tangent = Spectrum(0);
    if (channel) {
        out.ratio = over(pdf, density);
        out.passing_ratio = over(Spectrum(1), density)[0];
    }
    Mask found = active & s.found;
    Float t = select(found, s.t + y, begin.mint);
    out.mei = march.at(t);
    out.mei.sigma_t = medium.extinction(out.mei, found);
    out.mei.sigma_s = medium.scattering(out.mei, out.mei.sigma_t, found);
    out.mei.sigma_n = begin.majorant - out.mei.sigma_t;
    out.mei.t = select(found, t, Float(std::numeric_limits<double>::infinity()));
    return out;
}

Spectrum march_transmittance(const Medium &medium, const Ray &ray, const Medium::Extent &e,
                             const MediumInteraction &begin, const Float &step,
                             const Mask &active) {
    March march(medium, ray, e, begin, step, active);
    march.run(Float(Opaque), nullptr);
    const March::State &s = march.state;
    Spectrum depth = s.depth + select(s.found, march.depth_of(s), Spectrum(0));
    return map(depth, [](const Float &d) { return exp(-d); });
}

} // namespace umbel
