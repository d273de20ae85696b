// python/render_nodes.cpp: scenes as lists of nodes, which umbel.parser reads, changes, writes and loads.
//
// A node is (kind, type, id, file, line, path, values): the line is 0 where there is no file, values are pairs of name and
// value, in which Reference names another node by its id and ResolvedReference by its place in the list.
#include "core/image.h"
#include "python/helpers.h"
#include "python/render.h"
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unordered_map>

namespace umbel::python {
namespace {

// ---- Properties to nodes

class NodeList {
public:
    nb::list nodes;

    size_t add(const Properties &p, const std::string &path) {
        auto [it, fresh] = m_places.emplace(&p, nodes.size());
        size_t place = it->second;
        if (fresh) {
            nodes.append(nb::none());
            nodes[place] = node(p, path);
        }
        return place;
    }
    /// The list of the same objects that these nodes are.
    void add_all(const std::vector<PropertiesPtr> &all) {
        for (size_t i = 0; i < all.size(); ++i)
            m_places[all[i].get()] = i;
        for (const PropertiesPtr &p : all)
            nodes.append(node(*p, {}));
    }

private:
    nb::tuple node(const Properties &p, const std::string &path) {
        nb::list values;
        for (const Property &q : p.all()) {
            std::string inner = path.empty() || path == "root" ? q.name : path + "." + q.name;
            auto convert = [&](const auto &v) { return value(v, inner); };
            values.append(nb::make_tuple(q.name, std::visit(convert, q.value)));
        }
        return nb::make_tuple(p.kind, p.type, p.id, p.where.file ? *p.where.file : std::string(),
                              p.where.line, path, values);
    }
    nb::object resolved(const Properties &p, const std::string &path) {
        return from_package("_properties.ResolvedReference")(add(p, path));
    }

    // One function per type of value
    template <class T> nb::object value(const T &v, const std::string &) { return nb::cast(v); }
    nb::object value(const VectorData &v, const std::string &) {
        return nb::make_tuple(v.x, v.y, v.z);
    }
    nb::object value(const TransformData &t, const std::string &) { return from_transform(t); }
    nb::object value(const Reference &r, const std::string &) {
        return from_package("_properties.Reference")(r.id);
    }
    nb::object value(const std::shared_ptr<const Image> &image, const std::string &) {
        return nb::cast(Image(*image));
    }
    nb::object value(const PropertiesPtr &p, const std::string &path) {
        return p->instance ? to_python(p->instance) : resolved(*p, path);
    }
    nb::object value(const SpectrumData &s, const std::string &path) {
        if (s.kind == SpectrumData::Kind::Rgb)
            return from_package("_properties._colour")(std::vector(s.rgb.begin(), s.rgb.end()));
        if (s.kind == SpectrumData::Kind::Blackbody) {
            auto body = std::make_shared<Properties>("texture", "blackbody");
            body->set("temperature", s.temperature).set("scale", s.scale);
            m_made.push_back(body);
            return resolved(*body, path);
        }
        nb::object make = from_package("_properties.Spectrum");
        return s.kind == SpectrumData::Kind::Uniform ? make(std::vector{ s.value })
                                                     : make(s.values, s.wavelengths);
    }

    std::unordered_map<const Properties *, size_t> m_places;
    std::vector<PropertiesPtr> m_made; // their addresses must stay taken
};

// ---- nodes to Properties

class Graph {
public:
    explicit Graph(nb::list nodes) : m_nodes(nodes) {
        all.resize(nb::len(nodes));
        m_is_done.resize(all.size());
        for (size_t i = 0; i < all.size(); ++i)
            make(i);
    }
    std::vector<PropertiesPtr> all;

private:
    PropertiesPtr make(size_t i) {
        if (i >= all.size())
            fail("a node refers to place {} of a list of {}", i, all.size());
        if (m_is_done[i])
            return all[i];
        nb::tuple node = nb::cast<nb::tuple>(m_nodes[i]);
        auto text = [&](int k) { return nb::cast<std::string>(node[k]); };
        if (all[i])
            fail("{}: the object contains itself; remove the reference that closes the circle",
                 all[i]->describe());
        auto p = all[i] = std::make_shared<Properties>(text(0), text(1), text(2));
        if (p->kind.empty()) // a node that a script has made
            p->kind = PluginRegistry::instance().find_by_name(p->type).kind;
        if (int line = nb::cast<int>(node[4]))
            p->where = { std::make_shared<std::string>(text(3)), line };
        Plugin owner{ p->kind, p->type, {} };
        nb::object reference = from_package("_properties.ResolvedReference");
        for (nb::handle pair : node[6]) {
            std::string name = nb::cast<std::string>(pair[0]);
            nb::object value = pair[1];
            PropertyValue v = nb::isinstance(value, reference)
                                  ? make(nb::cast<size_t>(value.attr("index")()))
                                  : value_from(value, name, owner);
            p->set(std::move(name), std::move(v), p->where);
        }
        m_is_done[i] = true;
        return p;
    }

    nb::list m_nodes;
    std::vector<bool> m_is_done;
};

nb::dict parse(bool is_file, const std::string &text, nb::dict definitions, int max_depth) {
    enter();
    SceneFileOptions options = options_from(definitions);
    std::vector<std::string> warnings;
    SceneFileNotes notes;
    options.warnings = &warnings;
    options.notes = &notes;
    options.max_include_depth = max_depth;
    Properties root =
        is_file ? parse_scene_file(text, options) : parse_scene_string(text, options, "string");
    NodeList list;
    list.add(root, "root");
    nb::list aliases, folders;
    for (const Alias &a : notes.aliases)
        aliases.append(nb::make_tuple(a.id, a.as));
    for (const std::filesystem::path &folder : notes.folders)
        folders.append(folder.string());
    nb::dict out;
    out["nodes"] = list.nodes;
    out["files"] = notes.files;
    out["versions"] = notes.versions;
    out["aliases"] = aliases;
    out["folders"] = folders;
    out["warnings"] = warnings;
    return out;
}

} // namespace

void bind_nodes(nb::module_ &m) {
    nb::class_<AnimationData>(m, "_Animation") // opaque to scripts
        .def("__eq__", [](const AnimationData &a, nb::handle b) {
            return nb::isinstance<AnimationData>(b) && a == nb::cast<AnimationData>(b);
        });
    m.def("parse_scene", parse);
    m.def("dict_to_nodes", [](nb::dict d) {
        enter();
        NodeList list;
        list.add(*from_dict(d, {}), "root");
        return list.nodes;
    });
    m.def("upgrade_nodes", [](nb::list nodes, const std::vector<std::string> &versions) {
        enter();
        Graph graph(nodes);
        for (size_t i = 0; i < graph.all.size(); ++i)
            upgrade(*graph.all[i], versions.at(i));
        NodeList list;
        list.add_all(graph.all);
        return list.nodes;
    });
    m.def("check_nodes", [](nb::list nodes) { Graph graph(nodes); });
    m.def("load_nodes", [](nb::list nodes) {
        enter();
        Graph graph(nodes);
        return load_resolved(*graph.all.at(0));
    });
    m.def("nodes_to_xml", [](nb::list nodes, bool has_headings) {
        enter();
        SceneFileStyle style{ .is_readable = true, .has_headings = has_headings };
        return to_xml(*Graph(nodes).all.at(0), style);
    });
    m.def("dict_to_xml", [](nb::dict d, const std::string &stem, bool split) {
        enter();
        PropertiesPtr root = from_dict(d, {});
        if (split)
            return to_xml_files(*root, stem);
        return std::map<std::string, std::string>{ { stem + ".xml", to_xml(*root) } };
    });
}

} // namespace umbel::python
