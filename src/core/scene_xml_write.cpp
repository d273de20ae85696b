// core/scene_xml_write.cpp: Properties as a version 3 scene file.
#include "core/scene_file.h"
#include "jit/error.h"
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace umbel {
namespace {

using Vec = TransformData::Vec;

std::string join(const auto &numbers) {
    std::string text;
    for (double v : numbers)
        fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : " ", v);
    return text;
}

std::string as_text(const pugi::xml_document &document) {
    std::ostringstream stream;
    document.save(stream, "    ", pugi::format_default | pugi::format_no_declaration,
                  pugi::encoding_utf8);
    return stream.str();
}

// ---- Transforms as people write them

/// A scale, a rotation about one axis, and a translation, in this order.
struct Steps {
    Vec scale = { 1, 1, 1 }, offset = {};
    size_t axis = 0;
    double angle = 0; // degrees

    TransformData product() const {
        Vec about = {};
        about[axis] = 1;
        return TransformData::translate(offset) * TransformData::rotate(about, angle) *
               TransformData::scale(scale);
    }
};

bool same(const TransformData &a, const TransformData &b) {
    double size = 0, difference = 0;
    for (size_t i = 0; i < 16; ++i) {
        size = std::max(size, std::abs(a.m[i]));
        difference = std::max(difference, std::abs(a.m[i] - b.m[i]));
    }
    return difference <= 1e-6 * size;
}

std::optional<Steps> steps_of(const TransformData &t) {
    Steps s;
    for (int i = 0; i < 3; ++i) {
        s.offset[size_t(i)] = t(i, 3);
        s.scale[size_t(i)] = t(i, i);
    }
    if (same(s.product(), t))
        return s;
    double x = std::hypot(t(0, 0), t(1, 0), t(2, 0));
    s.scale = { x, x, x };
    for (int axis = 0; axis < 3; ++axis) {
        int j = (axis + 1) % 3, k = (axis + 2) % 3;
        s.axis = size_t(axis);
        s.angle = std::atan2(t(k, j), t(j, j)) * 180 / M_PI;
        if (same(s.product(), t))
            return s;
    }
    return {};
}

// Numbers are single precision wherever they come from a script: what is beyond that is no part of them.
double rounded(double v) { return std::round(v * 1e9) / 1e9; }

class Writer {
public:
    explicit Writer(const SceneFileStyle &style) : m_style(style) {}

    std::unique_ptr<pugi::xml_document> write(const Properties &root) {
        count(root);
        auto document = std::make_unique<pugi::xml_document>();
        pugi::xml_node node = document->append_child(root.kind.c_str());
        node.append_attribute("version") = "3.0.0";
        if (root.kind != "scene")
            attribute(node, "type", root.type);
        for (const auto &[name, value] : m_defaults) {
            pugi::xml_node n = element(node, "default", name);
            attribute(n, "value", fmt::format("{}", value));
        }
        write_content(node, root, false);
        return document;
    }

private:
    // Which objects occur more than once, and which ids are taken.
    void count(const Properties &p) {
        for (const Property &property : p.all()) {
            if (const PropertiesPtr *o = property.object(); o && *o)
                if (++m_uses[o->get()] == 1) {
                    m_taken.insert((*o)->id);
                    count(**o);
                }
            const auto *number = std::get_if<int64_t>(&property.value);
            if (const char *name = default_of(property.name); m_style.is_readable && name && number)
                m_defaults.emplace(name, *number);
        }
    }
    static const char *default_of(std::string_view parameter) {
        return parameter == "sample_count" ? "spp"
               : parameter == "width"      ? "resx"
               : parameter == "height"     ? "resy"
                                           : nullptr;
    }

    // Objects that are shared without an id, or whose id another object has, get a fresh one.
    const std::string &id_of(const Properties &p) {
        auto [it, fresh] = m_ids.emplace(&p, p.id);
        if (!fresh)
            return it->second;
        bool missing = p.id.empty() && m_uses[&p] > 1;
        bool clash = !p.id.empty() && !m_written.insert(p.id).second;
        if (missing || clash) {
            std::string base = clash ? p.id : p.kind;
            int n = 1;
            do
                it->second = fmt::format("{}-{}", base, n++);
            while (!m_taken.insert(it->second).second);
        }
        return it->second;
    }

    void write_content(pugi::xml_node node, const Properties &p, bool in_emitter) {
        if (!p.id.empty() && p.kind == "scene")
            attribute(node, "id", p.id);
        in_emitter = in_emitter || p.kind == "emitter";
        std::string_view last;
        for (const Property &property : p.all()) {
            const PropertiesPtr *o = property.object();
            if (m_style.has_headings && p.kind == "scene" && o && *o)
                if (std::string_view h = heading(**o); !h.empty() && h != last) {
                    last = h;
                    node.append_child(pugi::node_comment).set_value(fmt::format(" {} ", h).c_str());
                }
            auto *t = std::get_if<TransformData>(&property.value);
            if (m_style.is_readable && t)
                write_steps(node, property.name, *t, p.kind == "sensor");
            else
                std::visit(
                    [&](const auto &value) { write(node, property.name, value, in_emitter); },
                    property.value);
        }
    }

    static std::string_view heading(const Properties &p) {
        bool is_light = p.kind == "shape" && !p.objects("emitter").empty();
        return p.kind == "emitter" || is_light                ? "Emitters"
               : p.kind == "sensor" || p.kind == "integrator" ? "Camera and Rendering Parameters"
               : p.kind == "bsdf" || p.kind == "texture"      ? "Materials"
               : p.kind == "shape"                            ? "Shapes"
               : p.kind == "medium"                           ? "Participating media"
               : p.kind == "volume"                           ? "Volumes"
                                                              : "";
    }

    // A dollar would be taken for the start of a parameter's name.
    static void attribute(pugi::xml_node node, const char *name, std::string_view value) {
        std::string text;
        for (char c : value)
            text.append(c == '$' ? 2 : 1, c);
        node.append_attribute(name) = text.c_str();
    }

    static pugi::xml_node element(pugi::xml_node parent, const char *tag, const std::string &name) {
        pugi::xml_node node = parent.append_child(tag);
        if (!name.empty())
            attribute(node, "name", name);
        return node;
    }

    // ---- One function per type of value

    void write(pugi::xml_node parent, const std::string &name, bool value, bool) {
        attribute(element(parent, "boolean", name), "value", value ? "true" : "false");
    }
    void write(pugi::xml_node parent, const std::string &name, int64_t value, bool) {
        const char *parameter = default_of(name);
        auto it = m_defaults.find(parameter ? parameter : "");
        if (it != m_defaults.end() && it->second == value)
            element(parent, "integer", name).append_attribute("value") = ("$" + it->first).c_str();
        else
            attribute(element(parent, "integer", name), "value", fmt::format("{}", value));
    }
    void write(pugi::xml_node parent, const std::string &name, double value, bool) {
        attribute(element(parent, "float", name), "value", fmt::format("{}", value));
    }
    void write(pugi::xml_node parent, const std::string &name, const std::string &value, bool) {
        attribute(element(parent, "string", name), "value", value);
    }
    void write(pugi::xml_node parent, const std::string &name, const VectorData &v, bool) {
        pugi::xml_node node = element(parent, v.is_point ? "point" : "vector", name);
        attribute(node, "x", fmt::format("{}", v.x));
        attribute(node, "y", fmt::format("{}", v.y));
        attribute(node, "z", fmt::format("{}", v.z));
    }

    void write(pugi::xml_node parent, const std::string &name, const SpectrumData &s,
               bool in_emitter) {
        using Kind = SpectrumData::Kind;
        using Intent = SpectrumData::Intent;
        const char *tag = s.kind == Kind::Rgb         ? "rgb"
                          : s.kind == Kind::Blackbody ? "blackbody"
                                                      : "spectrum";
        pugi::xml_node node = element(parent, tag, name);
        if (s.kind == Kind::Rgb) {
            attribute(node, "value", join(s.rgb));
        } else if (s.kind == Kind::Uniform) {
            attribute(node, "value", fmt::format("{}", s.value));
        } else if (s.kind == Kind::Blackbody) {
            attribute(node, "temperature", fmt::format("{}", s.temperature));
            if (s.scale != 1)
                attribute(node, "scale", fmt::format("{}", s.scale));
        } else if (!s.filename.empty()) {
            attribute(node, "filename", s.filename);
        } else {
            std::string text;
            for (size_t i = 0; i < s.wavelengths.size(); ++i)
                fmt::format_to(std::back_inserter(text), "{}{}:{}", i ? ", " : "", s.wavelengths[i],
                               s.values[i]);
            attribute(node, "value", text);
        }
        if (s.intent == Intent::Illuminant && !in_emitter)
            attribute(node, "intent", "illuminant");
        if (s.intent == Intent::Reflectance && in_emitter)
            attribute(node, "intent", "reflectance");
    }

    void write(pugi::xml_node parent, const std::string &name, const TransformData &t, bool) {
        attribute(element(parent, "transform", name).append_child("matrix"), "value", join(t.m));
    }
    void write_steps(pugi::xml_node parent, const std::string &name, const TransformData &t,
                     bool is_sensor) {
        auto vec = [](const Vec &v) { return Vec{ rounded(v[0]), rounded(v[1]), rounded(v[2]) }; };
        auto put = [&](pugi::xml_node node, const Vec &v) {
            for (size_t i = 0; i < 3; ++i)
                if (rounded(v[i]) != 0)
                    attribute(node, &"x\0y\0z"[2 * i], fmt::format("{}", rounded(v[i])));
        };
        if (same(t, {}))
            return;
        if (std::optional<Steps> s = steps_of(t)) {
            pugi::xml_node node = element(parent, "transform", name);
            if (Vec f = vec(s->scale); f[0] == f[1] && f[0] == f[2]) {
                if (f[0] != 1)
                    attribute(node.append_child("scale"), "value", fmt::format("{}", f[0]));
            } else
                attribute(node.append_child("scale"), "value", join(f));
            if (rounded(s->angle) != 0) {
                Vec axis = {};
                axis[s->axis] = 1;
                pugi::xml_node turn = node.append_child("rotate");
                put(turn, axis);
                attribute(turn, "angle", fmt::format("{}", rounded(s->angle)));
            }
            if (vec(s->offset) != Vec{})
                put(node.append_child("translate"), s->offset);
            return;
        }
        Vec origin = { t(0, 3), t(1, 3), t(2, 3) }, target = origin;
        for (int i = 0; i < 3; ++i)
            target[size_t(i)] += t(i, 2);
        Vec up = { t(0, 1), t(1, 1), t(2, 1) };
        auto looks = TransformData::look_at(origin, target, up);
        if (!is_sensor || !looks || !same(*looks, t))
            return write(parent, name, t, false);
        pugi::xml_node node = element(parent, "transform", name).append_child("lookat");
        attribute(node, "origin", join(vec(origin)));
        attribute(node, "target", join(vec(target)));
        attribute(node, "up", join(vec(up)));
    }
    void write(pugi::xml_node parent, const std::string &name, const AnimationData &a, bool) {
        pugi::xml_node node = element(parent, "animation", name);
        for (size_t i = 0; i < a.times.size(); ++i) {
            pugi::xml_node key = node.append_child("transform");
            attribute(key, "time", fmt::format("{}", a.times[i]));
            attribute(key.append_child("matrix"), "value", join(a.transforms[i].m));
        }
    }
    void write(pugi::xml_node, const std::string &name, const std::shared_ptr<const Image> &,
               bool) {
        fail("{}: an image in memory cannot be part of a scene file; write it to a file and give "
             "its name",
             quote(name));
    }
    void write(pugi::xml_node parent, const std::string &name, const Reference &r, bool) {
        attribute(element(parent, "ref", name), "id", r.id);
    }
    void write(pugi::xml_node parent, const std::string &name, const PropertiesPtr &o,
               bool in_emitter) {
        if (!o)
            return;
        if (m_done.contains(o.get()))
            return write(parent, name, Reference{ id_of(*o) }, in_emitter);
        m_done.insert(o.get());
        if (o->instance)
            fail("{}: an object in memory cannot be part of a scene file; give the parameters "
                 "that it was made of",
                 quote(name.empty() ? o->id : name));
        pugi::xml_node node = parent.append_child(o->kind.c_str());
        attribute(node, "type", o->type);
        if (const std::string &id = id_of(*o); !id.empty())
            attribute(node, "id", id);
        if (!name.empty())
            attribute(node, "name", name);
        write_content(node, *o, in_emitter);
    }

    SceneFileStyle m_style;
    std::map<std::string, int64_t> m_defaults;
    std::unordered_map<const Properties *, int> m_uses;
    std::unordered_map<const Properties *, std::string> m_ids;
    std::unordered_set<std::string> m_taken, m_written;
    std::unordered_set<const Properties *> m_done;
};

// Where a part of a scene goes that is split.
const char *fragment_of(std::string_view tag) {
    return tag == "bsdf" || tag == "texture"        ? "materials"
           : tag == "shape"                         ? "geometry"
           : tag == "emitter"                       ? "emitters"
           : tag == "sensor" || tag == "integrator" ? "render"
                                                    : nullptr;
}

} // namespace

std::string to_xml(const Properties &root, const SceneFileStyle &style) {
    return as_text(*Writer(style).write(root));
}

std::map<std::string, std::string> to_xml_files(const Properties &root, std::string_view stem) {
    std::unique_ptr<pugi::xml_document> main = Writer({}).write(root);
    std::map<std::string, pugi::xml_document> parts;
    pugi::xml_node scene = main->document_element();
    for (pugi::xml_node node = scene.first_child(); node;) {
        pugi::xml_node next = node.next_sibling();
        if (const char *fragment = fragment_of(node.name())) {
            pugi::xml_document &part = parts[fmt::format("fragments/{}-{}.xml", stem, fragment)];
            if (!part.document_element())
                part.append_child("scene").append_attribute("version") = "3.0.0";
            part.document_element().append_copy(node);
            scene.remove_child(node);
        }
        node = next;
    }
    std::map<std::string, std::string> files;
    for (const auto &[name, part] : parts) {
        scene.append_child("include").append_attribute("filename") = name.c_str();
        files[name] = as_text(part);
    }
    files[fmt::format("{}.xml", stem)] = as_text(*main);
    return files;
}

} // namespace umbel
