// render/overlapping_media.cpp: see overlapping_media.h.
#include "render/overlapping_media.h"
#include "core/load_warnings.h"
#include "render/instance.h"
#include "render/openings.h"
#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace umbel {

namespace {

// Sets and transitions between them; what needs more is too intertwined to be told apart.
constexpr size_t MaxSets = 256, MaxTransitions = 1 << 20;

bool overlap(const BoundingBox &a, const BoundingBox &b, bool or_touch) {
    for (size_t i = 0; i < 3; ++i) {
        double common = std::min(a.max[i], b.max[i]) - std::max(a.min[i], b.min[i]),
               little = 1e-6 * std::max(a.max[i] - a.min[i], b.max[i] - b.min[i]);
        if (!(common >= (or_touch ? -little : little)) || (common <= 0 && !or_touch))
            return false;
    }
    return true;
}

bool contains(const BoundingBox &box, const std::array<double, 3> &p) {
    for (size_t a = 0; a < 3; ++a)
        if (p[a] < box.min[a] || p[a] > box.max[a])
            return false;
    return true;
}

bool is_ball(const Shape &s) {
    if (s.type() != ShapeType::Sphere || s.is_moving())
        return false;
    BoundingBox b = s.bounds();
    double x = b.max[0] - b.min[0];
    for (size_t i = 1; i < 3; ++i)
        if (std::abs(b.max[i] - b.min[i] - x) > 1e-6 * x)
            return false;
    return true;
}

std::array<double, 3> minus(const std::array<double, 3> &a, const std::array<double, 3> &b) {
    return { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
}

// How often a ray along x crosses the mesh from the inside to the outside, less how often it does the other way round.
int winding(const Mesh &mesh, const std::array<double, 3> &p) {
    int sum = 0;
    for (size_t t = 0; t < mesh.triangle_count(); ++t) {
        std::array<double, 3> v[3];
        for (size_t k = 0; k < 3; ++k)
            v[k] = minus(mesh.vertex(mesh.corner(t, k)), p);
        // In the plane of y and z; a corner on an edge's line counts as lying above it
        double area[3];
        for (size_t k = 0; k < 3; ++k) {
            auto &a = v[(k + 1) % 3], &b = v[(k + 2) % 3];
            area[k] = a[1] * b[2] - a[2] * b[1];
        }
        bool all = area[0] > 0 && area[1] > 0 && area[2] > 0,
             none = area[0] < 0 && area[1] < 0 && area[2] < 0;
        if (!all && !none)
            continue;
        double x = (area[0] * v[0][0] + area[1] * v[1][0] + area[2] * v[2][0]) /
                   (area[0] + area[1] + area[2]);
        if (x > 0)
            sum += all ? 1 : -1;
    }
    return sum;
}

} // namespace

// ---- regions

void OverlappingMedia::collect_regions(std::span<const Shape *const> surfaces,
                                       std::span<const Ref<Shape>> shapes) {
    // Members of groups are where instances are: a region each
    std::unordered_map<const Shape *, std::vector<const Instance *>> placed;
    uint32_t most = 0;
    for (const Shape *s : surfaces)
        most = std::max(most, s->global_number());
    for (const Ref<Shape> &s : shapes) {
        most = std::max(most, s->global_number());
        if (auto *instance = dynamic_cast<const Instance *>(s.get()))
            for (const Ref<Shape> &member : instance->group().members())
                placed[member.get()].push_back(instance);
    }
    std::vector<uint32_t> ordinals(most + 1);
    for (auto &[member, instances] : placed)
        for (uint32_t k = 0; k < instances.size(); ++k)
            ordinals[instances[k]->global_number()] = k;
    m_ordinals = jit::copy(ordinals);

    m_first_region.assign(surfaces.size(), 0);
    for (size_t i = 0; i < surfaces.size(); ++i) {
        const Shape *s = surfaces[i];
        bool is_entered = s->bsdf()->has(BSDFFlags::Transmission);
        if (s->interior() == s->exterior() || !(s->interior() || is_entered))
            continue;
        m_first_region[i] = uint32_t(m_regions.size() + 1);
        auto add = [&](const BoundingBox &box, const Instance *instance) {
            m_regions.push_back({ { s },
                                  instance,
                                  s->interior(),
                                  s->exterior(),
                                  box,
                                  box.radius(),
                                  !s->bsdf()->has(BSDFFlags::Null),
                                  instance || s->is_moving() });
        };
        if (auto known = placed.find(s); known != placed.end())
            for (const Instance *instance : known->second)
                add(instance->swept_bounds(), instance);
        else
            add(s->swept_bounds(), nullptr);
    }
}

bool OverlappingMedia::meets(uint32_t a, uint32_t b, bool or_touches) const {
    const Region &p = m_regions[a], &q = m_regions[b];
    if (!overlap(p.box, q.box, or_touches))
        return false;
    auto ball = [](const Region &r) {
        return r.shapes.size() == 1 && !r.is_placed && is_ball(*r.shapes[0]);
    };
    if (!ball(p) || !ball(q))
        return true;
    std::array<double, 3> d = minus(p.box.centre(), q.box.centre());
    double reach = (p.box.max[0] - p.box.min[0] + q.box.max[0] - q.box.min[0]) / 2;
    return std::hypot(d[0], d[1], d[2]) < reach * (1 - 1e-6);
}

bool OverlappingMedia::find_neighbours(bool or_touching) {
    auto count = uint32_t(m_regions.size());
    m_neighbours.assign(count, {});
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < count; ++i)
        if (!m_regions[i].is_alone)
            order.push_back(i);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return m_regions[a].box.min[0] < m_regions[b].box.min[0];
    });
    bool some = false;
    for (size_t i = 0; i < order.size(); ++i)
        for (size_t k = i + 1; k < order.size(); ++k) {
            uint32_t a = order[i], b = order[k];
            const Region &p = m_regions[a], &q = m_regions[b];
            if (q.box.min[0] > p.box.max[0])
                break;
            if (!meets(a, b, or_touching))
                continue;
            m_neighbours[a].push_back(b);
            m_neighbours[b].push_back(a);
            bool is_said = (p.outside && p.outside == q.inside) ||
                           (q.outside && q.outside == p.inside) || (!p.inside && !q.inside);
            some |= !is_said;
        }
    for (std::vector<uint32_t> &n : m_neighbours)
        std::sort(n.begin(), n.end());
    return some;
}

// Those that are closed together, and those of which none overlaps anything, however many they are.
void OverlappingMedia::unite_regions() {
    std::map<std::tuple<const Medium *, const Medium *, const Shape *, bool>, uint32_t> known;
    std::vector<Region> united;
    std::vector<uint32_t> now(m_regions.size() + 1);
    for (size_t i = 0; i < m_regions.size(); ++i) {
        Region &r = m_regions[i];
        Ref<Object> shape = std::const_pointer_cast<Object>(r.shapes[0]->shared_from_this());
        bool is_open = !find_openings({ std::static_pointer_cast<Shape>(shape) }).empty();
        r.is_alone = !is_open && m_neighbours[i].empty();
        auto next = uint32_t(united.size()), at = next;
        if (is_open || r.is_alone)
            at = known
                     .try_emplace({ r.inside, r.outside, is_open ? r.instance : nullptr, is_open },
                                  next)
                     .first->second;
        now[i + 1] = at + 1;
        if (at == next) {
            united.push_back(std::move(r));
            continue;
        }
        Region &to = united[at];
        to.shapes.push_back(r.shapes[0]);
        to.box.extend(r.box);
        to.size = to.box.radius();
        to.is_body |= r.is_body;
        to.is_placed |= r.is_placed;
    }
    m_regions = std::move(united);
    m_united = jit::copy(now);
}

bool OverlappingMedia::contains(const Region &region, const std::array<double, 3> &p) const {
    if (region.is_placed)
        return umbel::contains(region.box, p);
    int sum = 0;
    for (const Shape *s : region.shapes) {
        BoundingBox box = s->bounds();
        if (auto *mesh = dynamic_cast<const Mesh *>(s)) {
            sum += winding(*mesh, p);
        } else if (umbel::contains(box, p)) {
            std::array<double, 3> d = minus(p, box.centre());
            if (!is_ball(*s) || 2 * std::hypot(d[0], d[1], d[2]) < box.max[0] - box.min[0])
                return true;
        }
    }
    return sum != 0;
}

// ---- sets of them

uint32_t OverlappingMedia::everywhere(const Medium *medium) {
    auto at = std::find(m_everywhere.begin(), m_everywhere.end(), medium);
    if (at == m_everywhere.end())
        at = m_everywhere.insert(at, medium);
    return uint32_t(m_regions.size()) + uint32_t(at - m_everywhere.begin());
}

std::vector<const Medium *> OverlappingMedia::media_in(const Set &set) const {
    const Region *body = nullptr; // the innermost one
    for (uint32_t i : set)
        if (i < m_regions.size() && m_regions[i].is_body &&
            (!body || m_regions[i].size < body->size))
            body = &m_regions[i];
    std::vector<const Medium *> media, displaced;
    for (uint32_t i : set) {
        if (i >= m_regions.size()) {
            if (!body)
                media.push_back(m_everywhere[i - m_regions.size()]);
            continue;
        }
        const Region &r = m_regions[i];
        if (body && &r != body && !(r.size < body->size))
            continue;
        if (r.inside)
            media.push_back(r.inside);
        if (r.outside)
            displaced.push_back(r.outside);
    }
    for (const Medium *m : displaced)
        if (auto at = std::find(media.begin(), media.end(), m); at != media.end())
            media.erase(at);
    // Not by their addresses: images would differ from run to run
    std::sort(media.begin(), media.end(), [&](const Medium *a, const Medium *b) {
        return m_numbers_of_media.at(a) < m_numbers_of_media.at(b);
    });
    return media;
}

OverlappingMedia::Set OverlappingMedia::cross(const Set &set, uint32_t region, bool outwards) {
    const Region &r = m_regions[region];
    const std::vector<uint32_t> &neighbours = m_neighbours[region];
    Set next;
    for (uint32_t i : set) {
        // What does not meet the region has been left, by whatever opening
        bool stays = i >= m_regions.size()
                         ? !(outwards && m_everywhere[i - m_regions.size()] == r.inside)
                         : std::binary_search(neighbours.begin(), neighbours.end(), i);
        if (stays)
            next.push_back(i);
    }
    if (!outwards)
        next.push_back(region);
    std::sort(next.begin(), next.end());
    if (!outwards || !r.outside)
        return next;
    std::vector<const Medium *> media = media_in(next);
    if (std::find(media.begin(), media.end(), r.outside) == media.end())
        next.push_back(everywhere(r.outside)); // as the surface says
    std::sort(next.begin(), next.end());
    return next;
}

OverlappingMedia::Set OverlappingMedia::begin(const Medium *medium,
                                              std::span<const Ref<Sensor>> sensors) {
    auto sensor = std::find_if(sensors.begin(), sensors.end(), [&](const Ref<Sensor> &s) {
        return s->medium() == medium && !s->bounds().is_empty();
    });
    Set set;
    for (uint32_t i = 0; i < m_regions.size(); ++i)
        if (sensor == sensors.end() ? m_regions[i].inside == medium && set.empty()
                                    : contains(m_regions[i], (*sensor)->bounds().centre()))
            set.push_back(i);
    std::vector<const Medium *> media = media_in(set);
    if (std::find(media.begin(), media.end(), medium) == media.end())
        set.push_back(everywhere(medium));
    return set;
}

uint32_t OverlappingMedia::number_of(const Set &set, Table<Medium> &media) {
    if (set.empty())
        return 0;
    auto [known, is_new] = m_numbers.try_emplace(set, uint32_t(media.objects().size() + 1));
    if (!is_new)
        return known->second;
    std::vector<const Medium *> parts = media_in(set);
    Ref<Medium> &sum = m_sums[parts];
    if (parts.size() != 1 && !sum)
        sum = std::make_shared<MediumSum>(parts);
    media.append(parts.size() == 1 ? parts[0] : sum.get());
    m_sets.push_back(set);
    return known->second;
}

bool OverlappingMedia::find_sets(std::span<const Ref<Sensor>> sensors, Table<Medium> &media) {
    const std::vector<const Medium *> given = media.objects();
    for (const Medium *m : given)
        m_numbers_of_media[m] = media.number_of(m);
    m_begin = { 0 };
    for (const Medium *m : given)
        m_begin.push_back(number_of(begin(m, sensors), media));
    size_t row = 2 * (m_regions.size() + 1);
    std::vector<uint32_t> next;
    auto add_row = [&](const Set &set) {
        next.insert(next.end(), 2, number_of(set, media)); // surfaces that separate nothing
        for (uint32_t r = 0; r < m_regions.size(); ++r)
            for (bool outwards : { false, true })
                next.push_back(number_of(cross(set, r, outwards), media));
    };
    // Nothing, media by themselves, then all sets that can be got to
    add_row({});
    for (size_t i = 0; i < given.size(); ++i)
        add_row(Set(m_sets[m_begin[i + 1] - given.size() - 1]));
    for (size_t i = 0; i < m_sets.size(); ++i) {
        if (m_sets.size() > MaxSets || m_sets.size() * row > MaxTransitions)
            return false;
        add_row(Set(m_sets[i]));
    }
    m_next = jit::copy(next);
    m_row = jit::opaque(uint32_t(row));
    return true;
}

std::unique_ptr<OverlappingMedia> OverlappingMedia::find(std::span<const Shape *const> surfaces,
                                                         std::span<const Ref<Shape>> shapes,
                                                         std::span<const Ref<Sensor>> sensors,
                                                         Table<Medium> &media) {
    if (media.empty())
        return nullptr;
    auto found = std::make_unique<OverlappingMedia>();
    found->collect_regions(surfaces, shapes);
    // Those that are flat may be part of what overlaps
    if (!found->find_neighbours(true))
        return nullptr;
    found->unite_regions();
    if (!found->find_neighbours(false))
        return nullptr;
    Table<Medium> with_sets = media;
    if (found->find_sets(sensors, with_sets)) {
        media = std::move(with_sets);
        return found;
    }
    warn_while_loading(fmt::format(
        "{} shapes with media may overlap, by their boxes, in too many ways to tell them apart: "
        "beyond each surface is what the surface says. Give shapes that lie inside others an "
        "exterior, or make one shape of several",
        found->m_regions.size()));
    return nullptr;
}

UInt32 OverlappingMedia::beyond(const UInt32 &first, const SurfaceInteraction &si,
                                const Mask &outwards, const UInt32 &medium,
                                const Mask &active) const {
    UInt32 region =
        jit::gather(m_united, first + jit::gather(m_ordinals, si.instance, active), active);
    UInt32 side = select(outwards, UInt32(1u), UInt32(0u));
    return jit::gather(m_next, medium * m_row + region * UInt32(2u) + side, active);
}

} // namespace umbel
