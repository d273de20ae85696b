// core/scene_xml_upgrade.cpp: names and conventions of older scene files, turned into today's.
//
// What has no counterpart stays as it is: the plugin that gets it can complain with its line.
#include "core/scene_xml.h"
#include "jit/error.h"
#include <algorithm>

namespace umbel {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

} // namespace

// A word starts at a capital after a small letter, and at the last capital of a run of them:
// toWorld is to_world, extIOR is ext_ior, toUVScale is to_uv_scale. Lone capitals (the B and C of a
// filter) are names of quantities and stay.
std::string snake_case(std::string_view name) {
    if (name.size() == 1)
        return std::string(name);
    std::string result;
    for (size_t i = 0; i < name.size(); ++i) {
        char c = name[i];
        bool starts = is_upper(c) && i > 0 &&
                      (is_lower(name[i - 1]) ||
                       (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])));
        if (starts)
            result += '_';
        result += is_upper(c) ? char(c - 'A' + 'a') : c;
    }
    return result;
}

namespace scene_xml {
namespace {

struct PluginRename {
    std::string_view kind, from, to;
};

// Before 0.5; later files rarely have them.
constexpr PluginRename PluginRenames[] = {
    { "bsdf", "lambertian", "diffuse" },        { "bsdf", "roughglass", "roughdielectric" },
    { "bsdf", "roughmetal", "roughconductor" }, { "film", "exrfilm", "hdrfilm" },
    { "film", "pngfilm", "ldrfilm" },           { "texture", "exrtexture", "bitmap" },
    { "texture", "ldrtexture", "bitmap" },
};

struct ParameterRename {
    Version before; // files of this version need it no more
    std::string_view kind, type, from, to;
};

constexpr ParameterRename ParameterRenames[] = {
    { { 2 }, "bsdf", "", "ext_eta", "ext_ior" }, // conductors said Eta, dielectrics IOR
    { { 2 }, "bsdf", "", "int_eta", "int_ior" },
    { { 2 }, "emitter", "area", "intensity", "radiance" },
    { { 3 }, "film", "", "high_quality_edges", "sample_border" },
};

// Scale and offset of texture coordinates became one matrix: uv * scale + offset.
void merge_uv_parameters(Properties &object) {
    struct {
        std::string_view name;
        double value;
    } parts[] = { { "uscale", 1 }, { "vscale", 1 }, { "uoffset", 0 }, { "voffset", 0 } };
    const Property *last = nullptr;
    for (auto &part : parts)
        if (const Property *p = object.find(part.name)) {
            auto *number = std::get_if<double>(&p->value);
            if (!number || object.has("to_uv"))
                return;
            part.value = *number;
            last = p;
        }
    if (!last)
        return;
    SourceLocation where = last->where;
    for (auto &part : parts)
        object.erase(part.name);
    object.set("to_uv",
               TransformData::translate({ parts[2].value, parts[3].value, 0 }) *
                   TransformData::scale({ parts[0].value, parts[1].value, 1 }),
               where);
}

} // namespace

std::string_view canonical_kind(std::string_view tag) {
    if (tag == "luminaire")
        return "emitter";
    if (tag == "camera")
        return "sensor";
    return tag;
}

void upgrade_object(Properties &object, const Version &version) {
    if (version.is_old())
        for (const PluginRename &rename : PluginRenames)
            if (object.kind == rename.kind && object.type == rename.from) {
                object.type = rename.to;
                break;
            }
    for (const ParameterRename &rename : ParameterRenames) {
        if (version >= rename.before || object.kind != rename.kind ||
            (!rename.type.empty() && object.type != rename.type) || object.has(rename.to))
            continue;
        if (Property *p = object.find(rename.from))
            p->name = rename.to;
    }
    if (!version.is_old())
        return;

    if (object.kind == "texture")
        merge_uv_parameters(object);

    // A gamma of 1 says that the values are linear; others keep their meaning and name.
    if (object.kind == "texture" && object.type == "bitmap" && !object.has("raw"))
        if (Property *p = object.find("gamma"))
            if (auto *gamma = std::get_if<double>(&p->value); gamma && *gamma == 1) {
                p->name = "raw";
                p->value = true;
            }

    // Where two media met, and no BSDF was given, light went straight on. Other references may be to a BSDF.
    auto may_be_bsdf = [](const Property &p) {
        return p.object() ? (*p.object())->kind == "bsdf"
                          : std::holds_alternative<Reference>(p.value) && p.name != "interior" &&
                                p.name != "exterior";
    };
    if (object.kind == "shape" && (object.has("interior") || object.has("exterior")) &&
        std::none_of(object.all().begin(), object.all().end(), may_be_bsdf))
        object.set("", Properties("bsdf", "null"));

    // Enumerators changed their spelling too: luminanceAlpha.
    if (object.kind == "film")
        if (Property *p = object.find("pixel_format"))
            if (auto *format = std::get_if<std::string>(&p->value))
                *format = snake_case(*format);
}

} // namespace scene_xml

void upgrade(Properties &object, std::string_view version) {
    using namespace scene_xml;
    Version v;
    try {
        v = parse_version(version);
    } catch (const Problem &problem) {
        fail("upgrade: {}", problem.what);
    }
    if (v.is_old())
        for (Property &p : object.all()) {
            std::string name = snake_case(p.name);
            if (name != p.name && object.has(name))
                object.fail_at(p, fmt::format("parameter {} is given twice, also as {}; remove one",
                                              quote(p.name), quote(name)));
            p.name = std::move(name);
        }
    upgrade_object(object, v);
}

} // namespace umbel
