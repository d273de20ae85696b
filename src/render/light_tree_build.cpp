// render/light_tree_build.cpp: splits lights into groups that lie together, face alike and are equally strong.
#include "render/light_tree.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

namespace umbel {

namespace {

constexpr size_t Bins = 12;

/// Lights taken together.
struct Cluster {
    BoundingBox box;
    NormalCone normals = NormalCone::none();
    double cos_emission = 1;
    double weight = 0;

    void add(const BoundingBox &b, const NormalCone &n, double cos_e, double w) {
        box.extend(b);
        normals = NormalCone::around(normals, n);
        cos_emission = std::min(cos_emission, cos_e);
        weight += w;
    }
    void add(const LightSummary &l) {
        add(l.box, l.normals, l.cos_emission, l.weight * focus(l.cos_emission));
    }
    void add(const Cluster &c) { add(c.box, c.normals, c.cos_emission, c.weight); }

    /// How much brighter a light of the same power is that leaves in a cone than a surface, ahead of which it is power over pi.
    static double focus(double cos_emission) {
        return cos_emission > 0 ? 0.5 / std::max(1 - cos_emission, 1e-6) : 1;
    }
    double emission_angle() const {
        return cos_emission > 0 ? std::acos(std::min(cos_emission, 1.0)) : Pi / 2;
    }

    /// How much it would be in the way of others: weight, surface of the box, and directions in which it shines.
    double cost() const {
        double e[3] = { box.max[0] - box.min[0], box.max[1] - box.min[1], box.max[2] - box.min[2] };
        double area = 2 * (e[0] * e[1] + e[1] * e[2] + e[2] * e[0]);
        // Lights on a line, or in one point, have no area
        double size = area + 1e-3 * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        double o = std::acos(std::clamp(normals.cosine, -1.0, 1.0)),
               w = std::min(o + emission_angle(), Pi);
        double directions =
            2 * Pi * (1 - std::cos(o)) +
            Pi / 2 *
                (2 * w * std::sin(o) - std::cos(o - 2 * w) - 2 * o * std::sin(o) + std::cos(o));
        return weight * directions * size;
    }
};

class Builder {
public:
    Builder(std::span<const LightSummary> lights, std::span<const uint32_t> numbers)
        : m_lights(lights), m_order(numbers.begin(), numbers.end()) {
        m_tree.trails.resize(lights.size() + 1);
    }

    LightTree build() {
        // An explicit stack: a chain of lights is as deep as trails allow
        m_tasks.push_back({ { 0, m_order.size() }, 0, 0, add_node() });
        while (!m_tasks.empty()) {
            Task t = m_tasks.back();
            m_tasks.pop_back();
            uint32_t which = 0;
            for (Group g : children(t))
                finish_child(t, which++, g);
        }
        return std::move(m_tree);
    }

private:
    struct Group { // of lights, in m_order
        size_t begin, end;
        size_t size() const { return end - begin; }
    };
    struct Task {
        Group lights; // at least two
        uint32_t depth, trail;
        size_t node;
    };

    // The largest group is split until there are enough.
    std::vector<Group> children(const Task &t) {
        std::vector<Group> groups{ t.lights };
        while (groups.size() < LightTree::Children) {
            auto largest =
                std::max_element(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
                    return a.size() < b.size();
                });
            if (largest->size() == 1)
                break;
            size_t middle = split(*largest, t.depth), end = std::exchange(largest->end, middle);
            groups.push_back({ middle, end });
        }
        return groups;
    }

    const LightSummary &light(size_t i) const { return m_lights[m_order[i] - 1]; }
    Cluster cluster(const Group &g) const {
        Cluster c;
        for (size_t i = g.begin; i < g.end; ++i)
            c.add(light(i));
        return c;
    }
    size_t add_node() {
        size_t node = m_tree.nodes.size() / LightTree::NodeSize;
        m_tree.nodes.resize(m_tree.nodes.size() + LightTree::NodeSize, 0.0);
        return node;
    }

    void finish_child(const Task &t, uint32_t which, const Group &group) {
        uint32_t trail = t.trail | which << (t.depth * LightTree::TrailBits);
        Cluster c = cluster(group);
        double link;
        if (group.size() == 1) {
            m_tree.trails[m_order[group.begin]] = trail;
            link = -double(m_order[group.begin]);
        } else {
            size_t node = add_node();
            m_tasks.push_back({ group, t.depth + 1, trail, node });
            link = double(node);
        }
        double *child = &m_tree.nodes[t.node * LightTree::NodeSize + which * LightTree::ChildSize];
        double cosine = std::max(c.normals.cosine, 0.0), narrow = 0;
        if (c.cos_emission > 0) { // light as of surfaces whose normals are closer together
            double angle =
                std::acos(std::clamp(c.normals.cosine, -1.0, 1.0)) + c.emission_angle() - Pi / 2;
            cosine = angle < 0 ? 1 : std::max(std::cos(angle), 0.0);
            narrow = std::min(std::sin(angle), 0.0);
        }
        auto centre = c.box.centre();
        for (size_t j = 0; j < 3; ++j) {
            child[LightTree::Centre + j] = centre[j];
            child[LightTree::Extent + j] = (c.box.max[j] - c.box.min[j]) / 2;
            child[LightTree::Axis + j] = cosine * c.normals.axis[j];
        }
        child[LightTree::Sine] =
            narrow < 0 ? narrow : std::sqrt(std::max(0.0, 1 - cosine * cosine));
        m_tree.has_cones |= narrow < 0;
        child[LightTree::Weight] = c.weight;
        child[LightTree::Link] = link;
    }

    /// By what lights are told apart: the centre, and the axis of the normals.
    static constexpr size_t Traits = 6;
    static double trait(const LightSummary &l, size_t k) {
        return k < 3 ? l.box.centre()[k] : l.normals.axis[k - 3];
    }
    struct Range {
        double least = std::numeric_limits<double>::infinity(), most = -least;
        double length() const { return most - least; }
        size_t bin(double x) const {
            return std::min(size_t((x - least) / length() * double(Bins)), Bins - 1);
        }
    };
    using Ranges = std::array<Range, Traits>;

    // Where the second half of the group begins, after having ordered it.
    size_t split(const Group &t, uint32_t depth) {
        size_t n = t.size();
        Ranges ranges;
        for (size_t i = t.begin; i < t.end; ++i)
            for (size_t k = 0; k < Traits; ++k) {
                double x = trait(light(i), k);
                ranges[k].least = std::min(ranges[k].least, x);
                ranges[k].most = std::max(ranges[k].most, x);
            }
        auto begin = m_order.begin() + ptrdiff_t(t.begin), end = m_order.begin() + ptrdiff_t(t.end);
        // Halves of halves fit into what is left of the trails
        bool has_room = LightTree::TrailBits * (LightTree::MaxDepth - depth) >
                        size_t(std::bit_width(n)) + LightTree::TrailBits;
        if (auto best = has_room && n > 2 ? best_split(t, ranges) : std::nullopt) {
            auto [k, bin] = *best;
            auto middle = std::partition(begin, end, [&, k = k, bin = bin](uint32_t number) {
                return ranges[k].bin(trait(m_lights[number - 1], k)) <= bin;
            });
            if (middle != begin && middle != end)
                return size_t(middle - m_order.begin());
        }
        size_t longest = 0, at = t.begin + n / 2;
        for (size_t k = 1; k < 3; ++k)
            if (ranges[k].length() > ranges[longest].length())
                longest = k;
        std::nth_element(begin, m_order.begin() + ptrdiff_t(at), end, [&](uint32_t a, uint32_t b) {
            double x = trait(m_lights[a - 1], longest), y = trait(m_lights[b - 1], longest);
            return x != y ? x < y : a < b;
        });
        return at;
    }

    // The trait by which to split, and the last bin of the first half.
    std::optional<std::pair<size_t, size_t>> best_split(const Group &t,
                                                        const Ranges &ranges) const {
        double best = std::numeric_limits<double>::infinity(), longest = 0;
        for (size_t k = 0; k < 3; ++k)
            longest = std::max(longest, ranges[k].length());
        std::optional<std::pair<size_t, size_t>> out;
        for (size_t k = 0; k < Traits; ++k) {
            const Range &range = ranges[k];
            if (!(range.length() > 0))
                continue;
            std::array<Cluster, Bins> bins;
            for (size_t i = t.begin; i < t.end; ++i)
                bins[range.bin(trait(light(i), k))].add(light(i));
            std::array<double, Bins> after{}; // cost of all bins behind
            Cluster c;
            for (size_t b = Bins - 1; b > 0; --b) {
                c.add(bins[b]);
                after[b - 1] = c.weight > 0 ? c.cost() : -1;
            }
            c = {};
            for (size_t b = 0; b + 1 < Bins; ++b) {
                c.add(bins[b]);
                if (c.weight == 0 || after[b] < 0)
                    continue;
                // Thin slices are no good clusters
                double cost = (c.cost() + after[b]) * (k < 3 ? longest / range.length() : 1);
                if (cost < best) {
                    best = cost;
                    out = { k, b };
                }
            }
        }
        return out;
    }

    std::span<const LightSummary> m_lights;
    std::vector<uint32_t> m_order;
    std::vector<Task> m_tasks;
    LightTree m_tree;
};

} // namespace

LightTree build_light_tree(std::span<const LightSummary> lights,
                           std::span<const uint32_t> numbers) {
    return Builder(lights, numbers).build();
}

} // namespace umbel
