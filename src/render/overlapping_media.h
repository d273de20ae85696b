// render/overlapping_media.h: which media light is in where shapes that hold some overlap.
//
// A surface says what is behind it and in front of it. That is all there is to know where shapes with media lie apart, or one
// inside another and names it as its `exterior`. Where they overlap in other ways, what lies beyond a surface depends on which
// other shapes light is in, and lanes carry the number of that set in the place of a medium's:
// - Each shape adds its medium to those of the others (render/medium_sum.h), but to the one that it names as its exterior, which
//   it displaces.
// - A shape with a surface of its own, such as glass, is a body: it displaces all that is larger than itself.
// So an image does not depend on the direction in which light goes, nor on the order of shapes.
#pragma once
#include "render/dispatch.h"
#include "render/medium_sum.h"
#include "render/sensor.h"
#include <map>
#include <span>

namespace umbel {

class OverlappingMedia {
public:
    /// Null where no shapes overlap in such a way. `media` has all that shapes, sensors and emitters name; sets are appended.
    static std::unique_ptr<OverlappingMedia> find(std::span<const Shape *const> surfaces,
                                                  std::span<const Ref<Shape>> shapes,
                                                  std::span<const Ref<Sensor>> sensors,
                                                  Table<Medium> &media);

    /// Of a surface by number: what it borders, in its first instance; 0 where it separates no media.
    uint32_t first_region_of(size_t surface) const { return m_first_region[surface]; }
    /// The number of the set that light is in beyond a surface with such a number.
    UInt32 beyond(const UInt32 &first, const SurfaceInteraction &si, const Mask &outwards,
                  const UInt32 &medium, const Mask &active) const;
    /// The number of the set where a sensor in a medium is.
    uint32_t beginning(uint32_t medium) const { return m_begin[medium]; }

private:
    /// What a closed surface is around: a shape, or several that are closed together.
    struct Region {
        std::vector<const Shape *> shapes;
        const Shape *instance; // that places them; null: none does
        const Medium *inside, *outside;
        BoundingBox box;
        double size;
        bool is_body;
        bool is_placed = false; // by instances, or in motion
        bool is_alone = false;  // overlaps nothing
    };
    /// Regions, and media that are everywhere, in order; the latter have numbers after all regions.
    using Set = std::vector<uint32_t>;

    void collect_regions(std::span<const Shape *const> surfaces,
                         std::span<const Ref<Shape>> shapes);
    void unite_regions();
    /// Returns whether some do so without saying it.
    bool find_neighbours(bool or_touching);
    bool meets(uint32_t a, uint32_t b, bool or_touches) const;
    bool contains(const Region &region, const std::array<double, 3> &p) const;
    uint32_t everywhere(const Medium *medium);
    std::vector<const Medium *> media_in(const Set &set) const;
    Set cross(const Set &set, uint32_t region, bool outwards);
    /// Returns false where there are too many sets.
    bool find_sets(std::span<const Ref<Sensor>> sensors, Table<Medium> &media);
    Set begin(const Medium *medium, std::span<const Ref<Sensor>> sensors);
    uint32_t number_of(const Set &set, Table<Medium> &media);

    std::vector<Region> m_regions;
    std::vector<uint32_t> m_first_region; // by surface; from 1 on, before regions are united
    UInt32 m_ordinals;                    // of instances in their groups, by global number
    UInt32 m_united;                      // regions, by what they were
    std::vector<std::vector<uint32_t>> m_neighbours; // of each region: those that it overlaps
    std::vector<const Medium *> m_everywhere;
    std::map<const Medium *, uint32_t> m_numbers_of_media;
    std::map<Set, uint32_t> m_numbers;
    std::vector<Set> m_sets; // in the order of their numbers
    std::map<std::vector<const Medium *>, Ref<Medium>> m_sums;
    std::vector<uint32_t> m_begin; // by medium
    UInt32 m_next;                 // by set, region and side
    UInt32 m_row;                  // numbers in m_next a set
};

} // namespace umbel
