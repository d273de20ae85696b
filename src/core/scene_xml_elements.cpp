// core/scene_xml_elements.cpp: reading scene files: values, transforms, attributes and messages.
#include "core/nearest_name.h"
#include "core/scene_parser.h"
#include "jit/error.h"
#include <algorithm>
#include <cmath>

namespace umbel::scene_xml {
namespace {

using Vec = TransformData::Vec;

// x, y and z, or all of them in `value`; absent ones are `otherwise`.
Vec read_vec(const Attributes &a, double otherwise, bool one_is_enough) {
    const char *axes[] = { "x", "y", "z" };
    bool any = false;
    Vec v = { otherwise, otherwise, otherwise };
    for (int i = 0; i < 3; ++i)
        if (const std::string *text = a.find(axes[i])) {
            v[size_t(i)] = parse_number(*text);
            any = true;
        }
    if (const std::string *value = a.find("value")) {
        if (any)
            throw Problem{ "value stands beside x, y and z; use one or the other" };
        return parse_triple(*value, one_is_enough);
    }
    if (!any)
        throw Problem{ "there are no coordinates; give x, y and z" };
    return v;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

} // namespace

// ---- Values

bool SceneParser::parse_value(const Scope &scope, pugi::xml_node node, std::string_view tag) {
    auto is = [&](auto... names) { return ((tag == names) || ...); };
    if (is("transform")) {
        Attributes a = attributes(scope, node, { "name" });
        add(scope, node, a["name"], read_transform(scope, node));
        return true;
    }
    if (is("animation")) {
        Attributes a = attributes(scope, node, { "name" });
        add(scope, node, a["name"], read_animation(scope, node));
        return true;
    }
    bool is_color = is("rgb", "srgb", "spectrum", "blackbody");
    if (!is_color && !is("boolean", "integer", "float", "string", "point", "vector"))
        return false;

    Attributes a;
    if (is("point", "vector"))
        a = attributes(scope, node, { "name" }, { "x", "y", "z", "value" });
    else if (is("spectrum"))
        a = attributes(scope, node, { "name" }, { "value", "filename", "intent" });
    else if (is("blackbody"))
        a = attributes(scope, node, { "name", "temperature" }, { "scale", "intent" });
    else if (is_color)
        a = attributes(scope, node, { "name", "value" }, { "intent" });
    else
        a = attributes(scope, node, { "name", "value" });
    expect_no_children(scope, node);
    if (a["name"].empty())
        error(scope, node, fmt::format("<{}> has an empty name; name a parameter", tag));

    PropertyValue value = located(scope, node, [&]() -> PropertyValue {
        std::string_view text = a["value"];
        if (is("boolean"))
            return parse_boolean(text);
        if (is("integer"))
            return parse_integer(text);
        if (is("float"))
            return parse_float(text);
        if (is("string"))
            return std::string(text);
        if (is_color)
            return read_spectrum(scope, node, tag, a);
        Vec v = read_vec(a, 0, false);
        return VectorData{ v[0], v[1], v[2], is("point") };
    });
    add(scope, node, a["name"], std::move(value));
    return true;
}

SpectrumData SceneParser::read_spectrum(const Scope &scope, pugi::xml_node node,
                                        std::string_view tag, const Attributes &a) {
    SpectrumData s;
    if (tag == "rgb" || tag == "srgb") {
        s = SpectrumData::from_rgb(
            parse_color(a["value"], tag == "srgb", scope.file.version.is_old()));
    } else if (tag == "blackbody") {
        s.kind = SpectrumData::Kind::Blackbody;
        s.temperature = parse_temperature(a["temperature"]);
        if (const std::string *scale = a.find("scale"))
            s.scale = parse_number(*scale);
    } else if (const std::string *filename = a.find("filename")) {
        if (a.find("value"))
            throw Problem{ "both a value and a filename are given; remove one" };
        std::string where = place(scope, node);
        auto path = m_files->resolve(*filename, where);
        std::string text = read_text_file(path, m_options.max_bytes, where);
        count_bytes(text.size(), where);
        try {
            s = parse_spectrum_table(text);
        } catch (const Problem &problem) {
            throw Problem{ fmt::format("{}: {}", path.string(), problem.what) };
        }
        s.filename = *filename;
    } else if (const std::string *value = a.find("value")) {
        s = parse_spectrum(*value, scope.file.version.is_old());
    } else {
        throw Problem{ "<spectrum> has neither value, filename nor type; give one of them" };
    }
    s.intent =
        scope.in_emitter ? SpectrumData::Intent::Illuminant : SpectrumData::Intent::Reflectance;
    if (const std::string *intent = a.find("intent"))
        s.intent = parse_intent(*intent);
    // One number for light was so much white, not so much of every wavelength
    if (scope.file.version.is_old() && s.kind == SpectrumData::Kind::Uniform &&
        s.intent == SpectrumData::Intent::Illuminant)
        s = SpectrumData::from_rgb({ s.value, s.value, s.value }, s.intent);
    return s;
}

// ---- Transforms

TransformData SceneParser::read_transform(const Scope &scope, pugi::xml_node node) {
    TransformData result;
    for (pugi::xml_node step : elements(scope, node))
        result = located(scope, step, [&] { return read_step(scope, step); }) * result;
    if (!result.is_finite())
        error(scope, node, "the transform is not finite; check its numbers");
    return result;
}

TransformData SceneParser::read_step(const Scope &scope, pugi::xml_node node) {
    std::string_view tag = node.name();
    expect_no_children(scope, node);
    if (tag == "translate")
        return TransformData::translate(
            read_vec(attributes(scope, node, {}, { "x", "y", "z", "value" }), 0, false));
    if (tag == "scale")
        return TransformData::scale(
            read_vec(attributes(scope, node, {}, { "x", "y", "z", "value" }), 1, true));
    if (tag == "matrix")
        return parse_matrix(attributes(scope, node, { "value" })["value"]);
    if (tag == "rotate") {
        Attributes a = attributes(scope, node, { "angle" }, { "x", "y", "z", "value" });
        Vec axis = read_vec(a, 0, false);
        double length = std::hypot(axis[0], axis[1], axis[2]);
        if (!(length > 0) || !std::isfinite(length))
            throw Problem{ "the axis of <rotate> has no direction; set one of x, y, z to 1" };
        return TransformData::rotate(axis, parse_number(a["angle"]));
    }
    if (tag == "lookat" || tag == "lookAt") {
        // Before 0.4 each coordinate had an attribute of its own.
        Attributes a = attributes(
            scope, node, {},
            { "origin", "target", "up", "ox", "oy", "oz", "tx", "ty", "tz", "ux", "uy", "uz" });
        auto vec = [&](const char *name, std::string x, bool &given) -> Vec {
            given = true;
            if (const std::string *text = a.find(name))
                return parse_triple(*text, false);
            const std::string *parts[] = { a.find(x + "x"), a.find(x + "y"), a.find(x + "z") };
            given = parts[0] && parts[1] && parts[2];
            if (!given)
                return {};
            return { parse_number(*parts[0]), parse_number(*parts[1]), parse_number(*parts[2]) };
        };
        bool has_origin, has_target, has_up;
        Vec origin = vec("origin", "o", has_origin), target = vec("target", "t", has_target),
            up = vec("up", "u", has_up);
        if (!has_origin || !has_target)
            throw Problem{ fmt::format("<{}> needs an origin and a target; give both", tag) };
        // An upward direction of zero was a way to leave it out.
        bool zero_up = up[0] == 0 && up[1] == 0 && up[2] == 0;
        auto result = has_up && !zero_up ? TransformData::look_at(origin, target, up)
                                         : TransformData::look_at(origin, target);
        if (!result)
            throw Problem{ fmt::format(
                "<{}>: origin, target and up do not define a direction; move "
                "the target or turn up away from the view",
                tag) };
        return *result;
    }
    std::string known[] = { "translate", "rotate", "scale", "matrix", "lookat" };
    throw Problem{ fmt::format("<{}> is no transformation{}", tag,
                               suggestion(tag, known, "transformations")) };
}

AnimationData SceneParser::read_animation(const Scope &scope, pugi::xml_node node) {
    AnimationData result;
    for (pugi::xml_node key : elements(scope, node)) {
        if (std::string_view(key.name()) != "transform")
            error(scope, key,
                  fmt::format("<{}> in an <animation>; write <transform time=\"0\">", key.name()));
        Attributes a = attributes(scope, key, { "time" });
        double time = located(scope, key, [&] { return parse_number(a["time"]); });
        if (!result.times.empty() && time <= result.times.back())
            error(scope, key,
                  fmt::format("the time {} follows {}; put the keys in increasing order", time,
                              result.times.back()));
        result.times.push_back(time);
        result.transforms.push_back(read_transform(scope, key));
    }
    if (result.times.empty())
        error(scope, node, "the animation has no keys; add <transform time=\"0\">");
    return result;
}

// ---- Attributes

const std::string *Attributes::find(std::string_view name) const {
    for (const auto &[key, value] : list)
        if (key == name)
            return &value;
    return nullptr;
}

std::string_view Attributes::operator[](std::string_view name) const {
    const std::string *value = find(name);
    return value ? std::string_view(*value) : std::string_view();
}

Attributes SceneParser::attributes(const Scope &scope, pugi::xml_node node, Names required,
                                   Names optional) {
    Attributes result;
    for (pugi::xml_attribute attribute : node.attributes()) {
        std::string_view name = attribute.name();
        if (name.starts_with("xmlns") || name.starts_with("xsi:"))
            continue;
        auto knows = [&](Names names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (!knows(required) && !knows(optional)) {
            std::vector<std::string> known(required.begin(), required.end());
            known.insert(known.end(), optional.begin(), optional.end());
            error(scope, node,
                  fmt::format("<{}> has no attribute {}{}", node.name(), quote(name),
                              suggestion(name, known, "attributes")));
        }
        if (result.find(name))
            error(scope, node,
                  fmt::format("<{}> has the attribute {} twice; remove one", node.name(),
                              quote(name)));
        result.list.emplace_back(name, expand(scope, node, attribute.value()));
    }
    for (std::string_view name : required)
        if (!result.find(name))
            error(scope, node,
                  fmt::format("<{}> lacks the attribute \"{}\"; add it", node.name(), name));
    return result;
}

// $name and ${name} are replaced, $$ is a dollar. What was inserted is not looked at again: a
// default has been expanded when it was read.
std::string SceneParser::expand(const Scope &scope, pugi::xml_node node, std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size();) {
        size_t dollar = std::min(text.find('$', i), text.size());
        result.append(text, i, dollar - i);
        i = dollar + 1;
        if (dollar + 1 >= text.size()) {
            if (dollar < text.size())
                result += '$';
            break;
        }
        if (text[i] == '$') {
            result += '$';
            ++i;
            continue;
        }
        bool braces = text[i] == '{';
        size_t start = i + braces, end = start;
        if (start < text.size() && is_name_start(text[start]))
            while (end < text.size() && is_name_char(text[end]))
                ++end;
        bool closed = !braces || (end < text.size() && text[end] == '}');
        if (end == start || !closed) {
            result += '$'; // not a name: an ordinary character
            continue;
        }
        std::string_view name = text.substr(start, end - start);
        auto it = m_parameters.find(name);
        // What old films put into images once they are rendered: $scene['renderTime']
        if (it == m_parameters.end() && scope.file.version.is_old() && !braces &&
            end < text.size() && text[end] == '[') {
            result += '$';
            continue;
        }
        if (it == m_parameters.end()) {
            std::vector<std::string> known;
            for (const auto &[key, value] : m_parameters)
                known.push_back(key);
            std::string near = nearest_name(name, known);
            error(scope, node,
                  fmt::format("${} is not defined; {}pass -D {}=... or put <default "
                              "name=\"{}\" value=\"...\"/> before it",
                              name, near.empty() ? "" : "did you mean $" + near + "? Else ", name,
                              name));
        }
        m_used.emplace(name);
        m_expanded_bytes += it->second.size();
        // Values made of values grow fast; those of honest files do not outweigh them by much
        size_t most = std::min(m_options.max_bytes, m_bytes + (size_t(64) << 20));
        if (m_expanded_bytes > most)
            error(scope, node,
                  fmt::format("the values of $names add up to more than {} bytes; shorten them",
                              most));
        result += it->second;
        i = end + braces;
    }
    return result;
}

void SceneParser::expect_no_children(const Scope &scope, pugi::xml_node node) const {
    if (!elements(scope, node).empty())
        error(scope, node,
              fmt::format("<{}> contains other elements; close it with \"/>\"", node.name()));
}

std::vector<pugi::xml_node> SceneParser::elements(const Scope &scope, pugi::xml_node node) const {
    std::vector<pugi::xml_node> result;
    for (pugi::xml_node child : node) {
        if (child.type() == pugi::node_element)
            result.push_back(child);
        else if ((child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) &&
                 !is_blank(child.value()))
            refuse_text(scope, node, child.value());
    }
    return result;
}

// ---- Messages

SourceLocation SceneParser::location_of(const File &file, size_t offset) {
    auto it = std::lower_bound(file.line_ends.begin(), file.line_ends.end(), offset);
    return { file.name, int(it - file.line_ends.begin()) + 1 };
}

SourceLocation SceneParser::location(const File &file, ptrdiff_t offset) const {
    return location_of(file, file.base + size_t(std::max<ptrdiff_t>(offset, 0)));
}

void SceneParser::refuse_text(const Scope &scope, pugi::xml_node parent,
                              std::string_view text) const {
    error(scope, parent,
          fmt::format("<{}> contains the text {}; remove it or comment it out", parent.name(),
                      quote(text)));
}

std::string SceneParser::place(const Scope &scope, pugi::xml_node node) const {
    Property here;
    here.where = location(scope.file, node.offset_debug());
    return scope.depth < 0 ? here.where.str() : scope.object.describe(here);
}

void SceneParser::error(const Scope &scope, pugi::xml_node node, std::string_view what) const {
    fail("{}: {}", place(scope, node), what);
}

} // namespace umbel::scene_xml
