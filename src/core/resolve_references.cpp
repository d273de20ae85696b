// core/resolve_references.cpp: from ids to shared objects.
#include "core/nearest_name.h"
#include "core/properties.h"
#include "jit/error.h"
#include <algorithm>
#include <unordered_map>

namespace umbel {
namespace {

class Resolver {
public:
    explicit Resolver(int max_depth) : m_max_depth(max_depth) {}

    void collect(const Properties &p, int depth) {
        limit(p, depth);
        if (is_leaf(p) || !m_heights.emplace(&p, 0).second)
            return;
        for (const Property &property : p.all())
            if (const PropertiesPtr *o = property.object(); o && *o) {
                add(*o);
                collect(**o, depth + 1);
            }
    }

    // An alias may name an object anywhere, or an earlier alias.
    void add_alias(const Alias &alias) {
        std::string where = alias.where.file ? alias.where.str() + ": alias" : "alias";
        auto target = m_ids.find(alias.id);
        if (target == m_ids.end())
            fail("{}: there is no object with the id \"{}\"{}", where, alias.id,
                 suggestion(alias.id, known_ids(), "ids"));
        if (!m_ids.emplace(alias.as, target->second).second)
            fail("{}: the id \"{}\" is already taken; choose another", where, alias.as);
    }

    // The height counts references as nesting: whoever walks or frees the graph recurses that deep.
    int resolve(Properties &p, int depth) {
        limit(p, depth);
        if (is_leaf(p))
            return 1;
        int &known = m_heights[&p];
        if (known == InProgress)
            fail("{}: the object contains itself; remove the reference that closes the circle",
                 p.describe());
        if (known > 0)
            return known;
        known = InProgress;
        int height = 1;
        for (Property &property : p.all()) {
            const auto *reference = std::get_if<Reference>(&property.value);
            const PropertiesPtr *nested = property.object();
            if (!reference && !(nested && *nested))
                continue;
            PropertiesPtr child = reference ? lookup(p, property, reference->id) : *nested;
            height = std::max(height, 1 + resolve(*child, depth + 1));
            // Only now: linking an object that turns out to contain itself would leak it.
            if (reference)
                property.value = child;
        }
        if (height > m_max_depth)
            limit(p, height);
        m_heights[&p] = height;
        return height;
    }

private:
    static constexpr int InProgress = -1;

    // With nothing inside, as most shapes of large scenes: those need no note.
    static bool is_leaf(const Properties &p) {
        return std::none_of(p.all().begin(), p.all().end(), [](const Property &property) {
            return property.object() || std::get_if<Reference>(&property.value);
        });
    }

    void limit(const Properties &p, int depth) const {
        if (depth > m_max_depth)
            fail("{}: objects are nested more than {} deep, counting references; flatten the scene",
                 p.describe(), m_max_depth);
    }

    void add(const PropertiesPtr &o) {
        if (o->id.empty())
            return;
        auto [it, fresh] = m_ids.emplace(o->id, o);
        if (!fresh && it->second != o)
            fail("{}: the id \"{}\" is already taken{}; choose another", o->describe(), o->id,
                 it->second->where.file ? " at " + it->second->where.str() : "");
    }

    PropertiesPtr lookup(const Properties &owner, const Property &property,
                         const std::string &id) const {
        if (auto it = m_ids.find(id); it != m_ids.end())
            return it->second;
        owner.fail_at(property, fmt::format("there is no object with the id \"{}\"{}", id,
                                            suggestion(id, known_ids(), "ids")));
    }

    std::vector<std::string> known_ids() const {
        std::vector<std::string> result;
        for (const auto &[name, object] : m_ids)
            result.push_back(name);
        return result;
    }

    int m_max_depth;
    std::unordered_map<std::string, PropertiesPtr> m_ids;
    std::unordered_map<const Properties *, int> m_heights;
};

} // namespace

void resolve_references(Properties &root, int max_depth, std::span<const Alias> aliases) {
    Resolver resolver(max_depth);
    resolver.collect(root, 0);
    for (const Alias &alias : aliases)
        resolver.add_alias(alias);
    resolver.resolve(root, 0);
}

} // namespace umbel
