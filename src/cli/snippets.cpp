// cli/snippets.cpp: see cli/snippets.h. XML is indented and its numbers are written out; Python is the same, element by element.
#include "cli/snippets.h"
#include "core/object.h"
#include <charconv>
#include <map>
#include <pugixml.hpp>
#include <sstream>

namespace umbel {

namespace {

constexpr size_t Width = 96; // of a line of Python

/// Numbers between commas and spaces; none where there is something else.
std::vector<double> numbers(std::string_view text) {
    std::vector<double> out;
    const char *at = text.data(), *end = at + text.size();
    while (true) {
        while (at != end && (*at == ' ' || *at == ','))
            ++at;
        if (at == end)
            return out;
        double v;
        auto [next, error] = std::from_chars(at, end, v);
        if (error != std::errc() || (next != end && *next != ' ' && *next != ','))
            return {};
        out.push_back(v);
        at = next;
    }
}

std::string list(const std::vector<double> &v) {
    return v.size() == 1 ? fmt::format("{}", v[0]) : fmt::format("{}", fmt::join(v, ", "));
}

// ---- XML

/// `.5,1` becomes `0.5, 1`.
void write_out_numbers(pugi::xml_node node) {
    if (std::string_view(node.name()) != "string")
        for (pugi::xml_attribute a : node.attributes())
            if (std::vector<double> v = numbers(a.value()); !v.empty())
                a = list(v).c_str();
    for (pugi::xml_node child : node.children())
        write_out_numbers(child);
}

// ---- Python

/// One value: on a line, or a dictionary with entries on lines of their own.
struct Item {
    std::string text;
    std::vector<std::pair<std::string, Item>> entries = {};

    std::string one_line() const {
        if (entries.empty())
            return text;
        std::string out;
        for (auto &[key, item] : entries)
            out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", key, item.one_line());
        return "{" + out + "}";
    }
    /// `used`: columns that are taken at its beginning.
    std::string str(size_t indent, size_t used) const {
        std::string line = one_line(), out = "{\n";
        if (entries.empty() || used + line.size() <= Width)
            return line;
        for (auto &[key, item] : entries) {
            std::string begin = fmt::format("{:{}}\"{}\": ", "", indent + 4, key);
            out += begin + item.str(indent + 4, begin.size() + 1) + ",\n";
        }
        return out + std::string(indent, ' ') + "}";
    }
};

std::string in_quotes(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    return "\"" + out + "\"";
}

std::string vector(pugi::xml_node node, const char *name = "value", double otherwise = 0) {
    if (node.attribute(name)) {
        std::vector<double> v = numbers(node.attribute(name).value());
        return v.size() == 1 ? list(v) : "[" + list(v) + "]";
    }
    auto component = [&](const char *axis) { return node.attribute(axis).as_double(otherwise); };
    return "[" + list({ component("x"), component("y"), component("z") }) + "]";
}

/// The last step of a file is the first factor of a product.
std::string transform(pugi::xml_node node) {
    std::string out = "mi.ScalarTransform4f()";
    for (pugi::xml_node step = node.last_child(); step; step = step.previous_sibling()) {
        std::string tag = step.name();
        if (tag == "translate")
            out += fmt::format(".translate({})", vector(step));
        else if (tag == "scale")
            out += fmt::format(".scale({})", vector(step, "value", 1));
        else if (tag == "rotate")
            out += fmt::format(".rotate({}, {})", vector(step), step.attribute("angle").value());
        else if (tag == "lookat")
            out += fmt::format(".look_at({}, {}, {})", vector(step, "origin"),
                               vector(step, "target"), vector(step, "up"));
        else
            throw InternalError(fmt::format("an example has <{}>, which cli/snippets.cpp cannot "
                                            "write in Python; teach it",
                                            tag));
    }
    return out;
}

Item colour(const std::string &type, const std::string &value) {
    return { {}, { { "type", { in_quotes(type) } }, { "value", { value } } } };
}

/// `400:0, 500:1` as pairs, or one number.
std::string spectrum(const std::string &text) {
    std::string out;
    std::istringstream points(text);
    for (std::string point; std::getline(points, point, ',');)
        if (size_t colon = point.find(':'); colon != point.npos)
            out += fmt::format("{}({}, {})", out.empty() ? "" : ", ",
                               list(numbers(point.substr(0, colon))),
                               list(numbers(point.substr(colon + 1))));
    return out.empty() ? text : "[" + out + "]";
}

Item object(pugi::xml_node node, const std::string &type);

Item item(pugi::xml_node node) {
    std::string tag = node.name(), value = node.attribute("value").value();
    if (node.attribute("type"))
        return object(node, node.attribute("type").value());
    if (tag == "float")
        return { value.find_first_of(".e") == value.npos ? value + ".0" : value };
    if (tag == "integer")
        return { value };
    if (tag == "boolean")
        return { value == "true" ? "True" : "False" };
    if (tag == "string")
        return { in_quotes(value) };
    if (tag == "vector" || tag == "point")
        return { vector(node) };
    if (tag == "transform")
        return { transform(node) };
    if (tag == "rgb")
        return colour(tag, vector(node));
    if (tag == "spectrum")
        return colour(tag, spectrum(value));
    if (tag == "ref")
        return { fmt::format("{{\"type\": \"ref\", \"id\": {}}}",
                             in_quotes(node.attribute("id").value())) };
    throw InternalError(fmt::format("an example has <{}>, which cli/snippets.cpp cannot write in "
                                    "Python; teach it",
                                    tag));
}

Item object(pugi::xml_node node, const std::string &type) {
    Item out{ {}, { { "type", { in_quotes(type) } } } };
    if (node.attribute("id"))
        out.entries.push_back({ "id", { in_quotes(node.attribute("id").value()) } });
    std::map<std::string, int> unnamed;
    for (pugi::xml_node child : node.children()) {
        std::string key = child.attribute("name").value();
        if (key.empty()) { // any name that is not taken will do
            int n = ++unnamed[key = child.name()];
            key += n > 1 ? fmt::format("_{}", n) : "";
        }
        out.entries.push_back({ key, item(child) });
    }
    return out;
}

} // namespace

Snippet snippet_of(const Plugin &plugin, const std::string &parameters) {
    std::string text = parameters;
    for (size_t at; (at = text.find("$files/")) != text.npos;)
        text.erase(at, 7);
    bool is_scene = plugin.kind == "scene";
    pugi::xml_document document;
    auto parsed = document.load_string(fmt::format("<{0} {1}='{2}'>{3}</{0}>", plugin.kind,
                                                   is_scene ? "version" : "type",
                                                   is_scene ? "3.0.0" : plugin.name, text)
                                           .c_str());
    if (!parsed)
        throw InternalError(fmt::format("the example of {} is no XML: {}", plugin.name, text));
    pugi::xml_node root = document.document_element();
    for (pugi::xml_node child : root.children())
        write_out_numbers(child);
    std::ostringstream printed;
    root.print(printed, "    ");
    std::string xml = printed.str(), end = " />\n"; // as people write it, without the space
    for (size_t at = 0; (at = xml.find(end, at)) != xml.npos;)
        xml.erase(at, 1);

    const PluginRegistry &registry = PluginRegistry::instance();
    size_t count = 0;
    for (const Plugin *p : registry.all())
        count += p->name == plugin.name;
    std::string type = count > 1 ? plugin.kind + "/" + plugin.name : plugin.name,
                begin = "mi.load_dict(";
    return { xml, begin + object(root, type).str(0, begin.size() + 1) + ")\n" };
}

} // namespace umbel
