// core/properties.cpp: typed access to parameters, and the errors that come with it.
#include "core/properties.h"
#include "core/load_warnings.h"
#include "core/nearest_name.h"
#include "core/printable.h"
#include "core/without_effect.h"
#include "jit/error.h"
#include <algorithm>
#include <utility>

namespace umbel {
namespace {

template <class T> constexpr const char *type_name() {
    if constexpr (std::is_same_v<T, bool>)
        return "a boolean";
    else if constexpr (std::is_same_v<T, int64_t>)
        return "an integer";
    else if constexpr (std::is_same_v<T, double>)
        return "a float";
    else if constexpr (std::is_same_v<T, std::string>)
        return "a string";
    else if constexpr (std::is_same_v<T, VectorData>)
        return "a vector or point";
    else if constexpr (std::is_same_v<T, SpectrumData>)
        return "a color or spectrum";
    else if constexpr (std::is_same_v<T, TransformData>)
        return "a transform";
    else if constexpr (std::is_same_v<T, AnimationData>)
        return "a transform or animation";
    else
        return "a nested object";
}

std::string object_name(const Properties &p) {
    std::string result = p.kind.empty() ? "object" : p.kind;
    if (!p.id.empty())
        result += " " + quote(p.id);
    if (!p.type.empty() && p.type != p.kind)
        result += " (" + p.type + ")";
    return result;
}

std::string located(const SourceLocation &where, const std::string &text) {
    std::string place = where.str();
    return place.empty() ? text : place + ": " + text;
}

} // namespace

std::string quote(std::string_view text) {
    size_t n = std::min<size_t>(text.size(), 60);
    while (n > 0 && n < text.size() && (text[n] & 0xc0) == 0x80) // not within a character
        --n;
    std::string result = printable(text.substr(0, n));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return fmt::format("\"{}{}\"", result, n < text.size() ? "..." : "");
}

std::string SourceLocation::str() const {
    return file ? fmt::format("{}:{}", *file, line) : std::string();
}

std::string describe_value(const PropertyValue &value) {
    struct Visitor {
        std::string operator()(bool v) { return fmt::format("the boolean {}", v); }
        std::string operator()(int64_t v) { return fmt::format("the integer {}", v); }
        std::string operator()(double v) { return fmt::format("the float {}", v); }
        std::string operator()(const std::string &v) { return "the string " + quote(v); }
        std::string operator()(const VectorData &v) {
            return fmt::format("the {} ({}, {}, {})", v.is_point ? "point" : "vector", v.x, v.y,
                               v.z);
        }
        std::string operator()(const SpectrumData &v) {
            return v.kind == SpectrumData::Kind::Rgb ? "a color" : "a spectrum";
        }
        std::string operator()(const TransformData &) { return "a transform"; }
        std::string operator()(const AnimationData &) { return "an animation"; }
        std::string operator()(const PropertiesPtr &v) {
            return v ? "the nested " + object_name(*v) : "a missing object";
        }
        std::string operator()(const Reference &v) { return "a reference to " + quote(v.id); }
        std::string operator()(const std::shared_ptr<const Image> &) { return "an image"; }
    };
    return std::visit(Visitor(), value);
}

// ---- Setting and finding

Properties &Properties::set(std::string name, PropertyValue value, SourceLocation where) {
    if (Property *p = name.empty() ? nullptr : find(name)) {
        p->value = std::move(value);
        p->where = std::move(where);
    } else {
        m_values.push_back({ std::move(name), std::move(value), std::move(where) });
    }
    return *this;
}

Properties &Properties::set(std::string name, Properties object) {
    return set(std::move(name), std::make_shared<Properties>(std::move(object)));
}

bool Properties::erase(std::string_view name) {
    return std::erase_if(m_values, [&](const Property &p) { return p.name == name; }) > 0;
}

const Property *Properties::find(std::string_view name) const {
    for (const Property &p : m_values)
        if (p.name == name)
            return &p;
    return nullptr;
}

Property *Properties::find(std::string_view name) {
    return const_cast<Property *>(std::as_const(*this).find(name));
}

bool Properties::has(std::string_view name) const { return find(name) != nullptr; }

// ---- Typed access

const Property *Properties::query(std::string_view name) const {
    if (std::find(m_asked.begin(), m_asked.end(), name) == m_asked.end())
        m_asked.emplace_back(name);
    const Property *p = find(name);
    if (p)
        p->queried = true;
    return p;
}

template <class T> T Properties::convert(const Property &p) const {
    if (const T *value = std::get_if<T>(&p.value)) {
        if constexpr (std::is_same_v<T, PropertiesPtr>)
            if (!*value)
                fail_at(p, fmt::format("parameter \"{}\" is a missing object", p.name));
        return *value;
    }
    if constexpr (std::is_same_v<T, double>) {
        if (auto *v = std::get_if<int64_t>(&p.value))
            return double(*v);
        if (auto *v = std::get_if<SpectrumData>(&p.value);
            v && v->kind == SpectrumData::Kind::Uniform)
            return v->value;
    } else if constexpr (std::is_same_v<T, SpectrumData>) {
        if (auto *v = std::get_if<double>(&p.value))
            return SpectrumData::uniform(*v);
        if (auto *v = std::get_if<int64_t>(&p.value))
            return SpectrumData::uniform(double(*v));
        if (auto *v = std::get_if<VectorData>(&p.value))
            return SpectrumData::from_rgb({ v->x, v->y, v->z });
    } else if constexpr (std::is_same_v<T, AnimationData>) {
        if (auto *v = std::get_if<TransformData>(&p.value))
            return AnimationData{ { 0.0 }, { *v } };
    }
    fail_at(p, fmt::format("parameter \"{}\" is {}; it must be {}", p.name, describe_value(p.value),
                           type_name<T>()));
}

template <class T> T Properties::get(std::string_view name) const {
    if (const Property *p = query(name))
        return convert<T>(*p);
    // A misspelt parameter is the likely cause, and its line is the better one to show.
    for (const Property &p : m_values)
        if (!p.name.empty() && !p.queried)
            if (std::string near[] = { std::string(name) }; !nearest_name(p.name, near).empty())
                fail_at(
                    p, fmt::format("unknown parameter \"{}\"; did you mean \"{}\"?", p.name, name));
    fail("{}: parameter \"{}\" is missing; give it {}", describe(), name, type_name<T>());
}

#define UMBEL_PROPERTY_TYPE(T)                                                                     \
    template T Properties::get<T>(std::string_view) const;                                         \
    template T Properties::convert<T>(const Property &) const;
UMBEL_PROPERTY_TYPE(bool)
UMBEL_PROPERTY_TYPE(int64_t)
UMBEL_PROPERTY_TYPE(double)
UMBEL_PROPERTY_TYPE(std::string)
UMBEL_PROPERTY_TYPE(VectorData)
UMBEL_PROPERTY_TYPE(SpectrumData)
UMBEL_PROPERTY_TYPE(TransformData)
UMBEL_PROPERTY_TYPE(AnimationData)
UMBEL_PROPERTY_TYPE(PropertiesPtr)
#undef UMBEL_PROPERTY_TYPE

std::filesystem::path Properties::get_file(std::string_view name) const {
    std::string file = get<std::string>(name);
    const Property *p = find(name);
    if (files)
        return files->resolve(file, describe(*p));
    FileResolver here;
    here.add_folder(".");
    return here.resolve(file, describe(*p));
}

std::vector<PropertiesPtr> Properties::objects(std::string_view wanted) const {
    std::vector<PropertiesPtr> result;
    for (const Property &p : m_values)
        if (const PropertiesPtr *o = p.object();
            o && *o && (wanted.empty() || (*o)->kind == wanted)) {
            p.queried = true;
            result.push_back(*o);
        }
    return result;
}

// ---- What was not understood

std::vector<std::string> Properties::unqueried() const {
    std::vector<std::string> result;
    for (const Property &p : m_values)
        if (!p.queried) {
            const PropertiesPtr *o = p.object();
            result.push_back(p.name.empty() && o && *o ? "<" + (*o)->kind + ">" : p.name);
        }
    return result;
}

void Properties::finish() const {
    for (const Property &p : m_values) {
        if (p.queried)
            continue;
        if (p.name.empty())
            fail_at(p, describe_value(p.value) + " has no use here; remove it or give it the name "
                                                 "of a parameter");
        if (const char *why = without_effect(*this, p)) {
            if (*why)
                warn_while_loading(fmt::format("{}: {} makes no difference: {}",
                                               printable(describe(p)), p.name, why));
            continue;
        }
        fail_at(p, fmt::format("unknown parameter \"{}\"{}", p.name,
                               suggestion(p.name, m_asked, "parameters")));
    }
    m_asked = {}; // of no more use
}

void Properties::give_up() {
    std::exchange(m_values, {});
    std::exchange(m_asked, {});
}

std::string Properties::describe() const { return located(where, object_name(*this)); }

std::string Properties::describe(const Property &p) const {
    return located(p.where.file ? p.where : where, object_name(*this));
}

void Properties::fail_at(const Property &p, std::string_view what) const {
    fail("{}: {}", describe(p), what);
}

// ---- Comparison

bool same_content(const Properties &a, const Properties &b) {
    if (a.kind != b.kind || a.type != b.type || a.id != b.id || a.all().size() != b.all().size())
        return false;
    for (size_t i = 0; i < a.all().size(); ++i) {
        const Property &p = a.all()[i], &q = b.all()[i];
        if (p.name != q.name || p.value.index() != q.value.index())
            return false;
        if (const PropertiesPtr *o = p.object()) {
            const PropertiesPtr *r = q.object();
            if (*o != *r && (!*o || !*r || !same_content(**o, **r)))
                return false;
        } else if (p.value != q.value) {
            return false;
        }
    }
    return true;
}

} // namespace umbel
