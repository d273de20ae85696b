// core/scene_xml_write.cpp: Properties as a version 3 scene file.
#include "core/scene_file.h"
#include "jit/error.h"
#include <iterator>
#include <pugixml.hpp>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace umbel {
namespace {

class Writer {
public:
    std::string write(const Properties &root) {
        count(root);
        pugi::xml_document document;
        pugi::xml_node node = document.append_child(root.kind.c_str());
        node.append_attribute("version") = "3.0.0";
        if (root.kind != "scene")
            attribute(node, "type", root.type);
        write_content(node, root, false);
        std::ostringstream stream;
        document.save(stream, "    ", pugi::format_default | pugi::format_no_declaration,
                      pugi::encoding_utf8);
        return stream.str();
    }

private:
    // Which objects occur more than once, and which ids are taken.
    void count(const Properties &p) {
        for (const Property &property : p.all())
            if (const PropertiesPtr *o = property.object(); o && *o)
                if (++m_uses[o->get()] == 1) {
                    m_taken.insert((*o)->id);
                    count(**o);
                }
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
        for (const Property &property : p.all())
            std::visit([&](const auto &value) { write(node, property.name, value, in_emitter); },
                       property.value);
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

    static std::string join(const auto &numbers) {
        std::string text;
        for (double v : numbers)
            fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : " ", v);
        return text;
    }

    // ---- One function per type of value

    void write(pugi::xml_node parent, const std::string &name, bool value, bool) {
        attribute(element(parent, "boolean", name), "value", value ? "true" : "false");
    }
    void write(pugi::xml_node parent, const std::string &name, int64_t value, bool) {
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
        pugi::xml_node node = parent.append_child(o->kind.c_str());
        attribute(node, "type", o->type);
        if (const std::string &id = id_of(*o); !id.empty())
            attribute(node, "id", id);
        if (!name.empty())
            attribute(node, "name", name);
        write_content(node, *o, in_emitter);
    }

    std::unordered_map<const Properties *, int> m_uses;
    std::unordered_map<const Properties *, std::string> m_ids;
    std::unordered_set<std::string> m_taken, m_written;
    std::unordered_set<const Properties *> m_done;
};

} // namespace

std::string to_xml(const Properties &root) { return Writer().write(root); }

} // namespace umbel
