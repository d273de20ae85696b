// render/light_tree.cpp: a walk from the root of a tree of lights to one of them, in recorded code.
//
// At each step the importance of all children is estimated: their weight, how their normals may face the place, how the
// place may face them, their distance, and whether cones that hold all of their light may reach it. It is zero only
// where no light of a child can reach the place. Boxes pay: with spheres in their place the noise is twice as strong, and a
// tenth of the time saved.
#include "render/light_tree.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include <numeric>

namespace umbel {

namespace {

/// Less than 1 by so much that no number of single precision is itself after multiplication by it.
constexpr double AlmostOne = 1 - 0x1p-23;

class TreeOfLights final : public LightSampler {
public:
    explicit TreeOfLights(std::span<const LightSummary> lights)
        : m_sources(make_light_sampler(lights, false)) {
        std::vector<uint32_t> near;
        std::vector<double> far = { 0 };
        for (const LightSummary &l : lights) {
            if (l.is_local && l.weight > 0)
                near.push_back(uint32_t(far.size()));
            far.push_back(!l.is_local && l.weight > 0 ? l.share : 0.0);
        }
        m_has_near = !near.empty();
        double far_count = std::accumulate(far.begin(), far.end(), 0.0),
               all = far_count + m_has_near;
        if (far_count > 0) {
            m_far = AliasTable(std::span<const double>(far).subspan(1));
            for (double &w : far)
                w /= all;
            m_far_pmf = float_array(far);
        }
        m_near_pmf = opaque_float(all > 0 ? m_has_near / all : 0);
        if (near.size() <= 1) {
            m_only = jit::opaque(near.empty() ? 0u : near[0]);
            return;
        }
        LightTree tree = build_light_tree(lights, near);
        m_nodes = float_array(tree.nodes);
        m_has_cones = tree.has_cones;
        m_trails = jit::copy(tree.trails);
    }

    Choice choose(const Interaction &it, const Float &u, const Mask &active) const override {
        if (m_far.empty())
            return descend(it, u, active);
        Float far_pmf = 1 - m_near_pmf;
        Mask is_far = u < far_pmf;
        Float far_u = min(u / far_pmf, AlmostOne);
        auto [index, rest] = m_far.sample_reuse(far_u, active & is_far);
        UInt32 number = index + UInt32(1u);
        Choice far{ number, Float(jit::gather(m_far_pmf, number, active & is_far)), rest };
        if (!m_has_near)
            return far;
        Float near_u = clamp((u - far_pmf) / m_near_pmf, Float(0), Float(AlmostOne));
        Choice near = descend(it, near_u, active & !is_far);
        return { select(is_far, far.emitter, near.emitter),
                 select(is_far, far.pmf, near.pmf * m_near_pmf),
                 select(is_far, far.rest, near.rest) };
    }

    Float pmf(const Interaction &it, const UInt32 &emitter, const Mask &active) const override {
        Mask known = active & (emitter != UInt32(0u));
        if (m_far.empty())
            return descend_to(it, emitter, known);
        Float far(jit::gather(m_far_pmf, emitter, known));
        if (!m_has_near)
            return far;
        Mask near = known & (far == 0);
        return select(near, descend_to(it, emitter, near) * m_near_pmf, far);
    }

    Choice choose_source(const Float &u, const Mask &active) const override {
        return m_sources->choose_source(u, active);
    }
    Float source_pmf(const UInt32 &emitter, const Mask &active) const override {
        return m_sources->source_pmf(emitter, active);
    }

private:
    struct Place {
        Vector3 p, n;
        Float height; // above a surface that there is not: faces everything
    };
    static Place place(const Interaction &it) {
        auto fixed = [](const Vector3 &v) {
            return Vector3(Float(ad::detach(v.x)), Float(ad::detach(v.y)), Float(ad::detach(v.z)));
        };
        Place out{ fixed(it.p), fixed(it.n), {} };
        out.height = select(squared_norm(out.n) > 0, Float(0), Float(1e15));
        return out;
    }

    static Vector3 absolute(const Vector3 &v) { return { abs(v.x), abs(v.y), abs(v.z) }; }
    /// At least the length of a vector without negative components, and at most 16 % more: roots take longer than all else here.
    static Float length_bound(const Vector3 &v) {
        return 0.5 * (max(max(v.x, v.y), v.z) + (v.x + v.y + v.z));
    }

    Float importance(const Place &at, const Value *child) const {
        auto v = [&](size_t i) { return Float(child[i]); };
        auto vector = [&](size_t i) { return Vector3(v(i), v(i + 1), v(i + 2)); };
        Vector3 to = vector(LightTree::Centre) - at.p, extent = vector(LightTree::Extent),
                axis = vector(LightTree::Axis), away = absolute(to);
        auto gap = [](const Float &x, const Float &e) { return max(x - e, Float(0)); };
        Vector3 least(gap(away.x, extent.x), gap(away.y, extent.y), gap(away.z, extent.z));
        Float reach = length_bound(away + extent),
              near = max(length_bound(least), fma(reach, Float(1e-5), Float(1e-12)));
        Float dist2 = max(max(squared_norm(to), squared_norm(extent)), Float(1e-24));
        Float inv = 1 / (near * dist2), inv_near = inv * dist2; // one division for both
        // How far the place is in front of any point of the box, over the distance: the cosine, about. Other normals see it
        // higher by the sine of their angle at most, of the distance, which is `reach` at most.
        Float sine = v(LightTree::Sine), facing = dot(absolute(axis), extent) - dot(axis, to),
              front = facing + reach * ((m_has_cones ? max(sine, Float(0)) : sine) + Rounding);
        // Light may come through the surface as well
        Float above = dot(absolute(at.n), extent) + abs(dot(at.n, to)) +
                      fma(reach, Float(Rounding), at.height);
        Float cosines =
            clamp(front * inv_near, Float(0), Float(1)) * min(above * inv_near, Float(1));
        if (m_has_cones) { // `front` is the most along the axis, and squares spare the root
            Mask beside = (front <= 0) | (sqr(front) < sqr(sine) * squared_norm(least));
            cosines = select((sine < 0) & beside, Float(0), cosines);
        }
        return v(LightTree::Weight) * cosines * (inv * near);
    }

    /// The children of a node by importance.
    struct Children {
        std::array<Float, LightTree::Children> importance, before,
            link; // `before`: of those that come first
        Float total;

        /// One of them: `of` values by child, given whether it is among the last three, two, one.
        static Float pick(const std::array<Float, LightTree::Children> &of, const Mask &after_0,
                          const Mask &after_1, const Mask &after_2) {
            return select(after_1, select(after_2, of[3], of[2]), select(after_0, of[1], of[0]));
        }
    };
    Children children_of(const UInt32 &node, const Place &at, const Mask &active) const {
        std::vector<Value> r = jit::gather_packet(m_nodes, node, LightTree::NodeSize, active);
        Children c;
        c.total = Float(0);
        for (size_t k = 0; k < LightTree::Children; ++k) {
            const Value *child = &r[k * LightTree::ChildSize];
            c.importance[k] = importance(at, child);
            c.before[k] = c.total;
            c.total = c.total + c.importance[k];
            c.link[k] = Float(child[LightTree::Link]);
        }
        return c;
    }

    Choice descend(const Interaction &it, const Float &u, const Mask &active) const {
        if (!m_nodes.valid())
            return { m_only, Float(m_has_near ? 1 : 0), u };
        Place at = place(it);
        struct State {
            UInt32 node, emitter;
            Float u, pmf;
            Mask active;
            UMBEL_STRUCT(node, emitter, u, pmf, active)
        };
        State s{ UInt32(0u), UInt32(0u), u, Float(1), active };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                Children c = children_of(s.node, at, s.active);
                Float x = min(s.u, AlmostOne) * c.total;
                Mask after[] = { x >= c.before[1], x >= c.before[2], x >= c.before[3] };
                auto pick = [&](const auto &of) {
                    return Children::pick(of, after[0], after[1], after[2]);
                };
                Float chosen = pick(c.importance), link = pick(c.link);
                Mask some = chosen > 0; // or no child can reach the place
                s.u = clamp((x - pick(c.before)) / chosen, Float(0), Float(AlmostOne));
                s.pmf = select(some, s.pmf * (chosen / c.total), Float(0));
                Mask inner = some & (link >= 0);
                s.emitter = select(some & !inner, to_uint(-link), UInt32(0u));
                s.node = select(inner, to_uint(link), s.node);
                s.active = s.active & inner;
            },
            "lights");
        return { s.emitter, s.pmf, s.u };
    }

    Float descend_to(const Interaction &it, const UInt32 &emitter, const Mask &active) const {
        if (!m_nodes.valid())
            return select(emitter == m_only, Float(m_has_near ? 1 : 0), Float(0));
        Place at = place(it);
        struct State {
            UInt32 node, trail;
            Float pmf;
            Mask active;
            UMBEL_STRUCT(node, trail, pmf, active)
        };
        State s{ UInt32(0u), UInt32(jit::gather(m_trails, emitter, active)), Float(1), active };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                Children c = children_of(s.node, at, s.active);
                UInt32 which = s.trail & UInt32(LightTree::Children - 1);
                auto pick = [&](const auto &of) {
                    return Children::pick(of, which != UInt32(0u), which > UInt32(1u),
                                          which > UInt32(2u));
                };
                Float chosen = pick(c.importance), link = pick(c.link);
                Mask some = chosen > 0;
                s.pmf = select(some, s.pmf * (chosen / c.total), Float(0));
                s.trail = s.trail >> UInt32(LightTree::TrailBits);
                Mask inner = some & (link >= 0);
                // Lights of no weight are not in the tree: their trail ends at another one
                Mask other = some & !inner & (to_uint(-link) != emitter);
                s.pmf = select(other, Float(0), s.pmf);
                s.node = select(inner, to_uint(link), s.node);
                s.active = s.active & inner;
            },
            "lights");
        return s.pmf;
    }

    /// Of cosines in single precision: what lies at the very edge of being seen is not lost.
    static constexpr double Rounding = 1e-4;

    std::unique_ptr<LightSampler> m_sources;
    Float m_nodes;
    UInt32 m_trails;
    UInt32 m_only; // in place of a tree of one light, or of none
    bool m_has_near = false, m_has_cones = false;
    Float m_near_pmf;
    AliasTable m_far; // empty if all lights are near
    Float m_far_pmf;  // by number
};

} // namespace

std::unique_ptr<LightSampler> make_light_tree(std::span<const LightSummary> lights) {
    return std::make_unique<TreeOfLights>(lights);
}

} // namespace umbel
