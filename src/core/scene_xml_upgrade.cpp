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

// Most are from before 0.5; later files rarely have them.
constexpr PluginRename PluginRenames[] = {
    { "bsdf", "lambertian", "diffuse" },
    { "bsdf", "roughglass", "roughdielectric" },
    { "bsdf", "lambert", "diffuse" },
    { "bsdf", "roughmetal", "roughconductor" },
    { "bsdf", "composite", "mixturebsdf" },
    { "film", "exrfilm", "hdrfilm" },
    { "film", "pngfilm", "ldrfilm" },
    { "rfilter", "wsinc", "lanczos" },
    { "texture", "exrtexture", "bitmap" },
    { "texture", "ldrtexture", "bitmap" },
    { "texture", "vertexcolors", "mesh_attribute" },
};

struct ParameterRename {
    Version before; // files of this version need it no more
    std::string_view kind, type, from,
        to; // type: empty for all, !conductor for all whose name does not end like that

    bool is_of(const Properties &object) const {
        if (type.starts_with('!'))
            return object.kind == kind && !object.type.ends_with(type.substr(1));
        return object.kind == kind && (type.empty() || object.type == type);
    }
};

constexpr ParameterRename ParameterRenames[] = {
    { { 2 }, "bsdf", "conductor", "ext_ior", "ext_eta" }, // conductors said Eta, dielectrics IOR
    { { 2 }, "bsdf", "roughconductor", "ext_ior", "ext_eta" },
    { { 2 }, "bsdf", "!conductor", "ext_eta", "ext_ior" },
    { { 2 }, "bsdf", "!conductor", "int_eta", "int_ior" },
    { { 2 }, "bsdf", "diffuse", "diffuse_reflectance", "reflectance" },
    { { 2 }, "bsdf", "roughdiffuse", "diffuse_reflectance", "reflectance" },
    { { 2 }, "bsdf", "difftrans", "diffuse_transmittance", "transmittance" },
    { { 2 }, "emitter", "area", "intensity", "radiance" },
    { { 2 }, "emitter", "constant", "intensity", "radiance" },
    { { 2 }, "emitter", "directional", "intensity", "irradiance" },
    { { 2 }, "emitter", "envmap", "intensity_scale", "scale" },
    { { 2 }, "integrator", "direct", "luminaire_samples", "emitter_samples" },
    { { 2 }, "medium", "heterogeneous", "density", "sigma_t" },
    { { 3 }, "film", "", "high_quality_edges", "sample_border" },
};

// Scale and offset of texture coordinates became one matrix: uv * scale + offset. `uvscale` was the scale along axes
// that had none of their own.
void merge_uv_parameters(Properties &object) {
    struct {
        std::string_view name;
        double value;
    } parts[] = { { "uscale", 1 }, { "vscale", 1 }, { "uoffset", 0 }, { "voffset", 0 } };
    const Property *last = object.find("uvscale");
    if (last) {
        auto *number = std::get_if<double>(&last->value);
        if (!number || object.has("to_uv"))
            return;
        parts[0].value = parts[1].value = *number;
    }
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
    object.erase("uvscale");
    object.set("to_uv",
               TransformData::translate({ parts[2].value, parts[3].value, 0 }) *
                   TransformData::scale({ parts[0].value, parts[1].value, 1 }),
               where);
}

void upgrade_texture(Properties &object) {
    merge_uv_parameters(object);
    if (object.type == "mesh_attribute" && !object.has("name")) // was vertexcolors
        object.set("name", std::string("vertex_color"));
    if (object.type == "scale" && !object.has("value")) // the texture inside had any name
        for (Property &p : object.all())
            if (p.object() && (*p.object())->kind == "texture")
                p.name = "value";
    if (object.type != "bitmap")
        return;
    // A gamma of 1 says that the values are linear; others keep their meaning and name.
    if (Property *p = object.find("gamma"); p && !object.has("raw"))
        if (auto *gamma = std::get_if<double>(&p->value); gamma && *gamma == 1) {
            p->name = "raw";
            p->value = true;
        }
    // One for both axes
    Property *u = object.find("wrap_mode_u"), *v = object.find("wrap_mode_v");
    if (u && v && u->value == v->value && !object.has("wrap_mode")) {
        u->name = "wrap_mode";
        object.erase("wrap_mode_v");
    }
}

void upgrade_bsdf(Properties &object) {
    // Conductors were copper in air unless they said otherwise, and mirrors had a name of their own.
    if (object.type == "mirror") {
        object.type = "conductor";
        object.set("material", std::string("none"));
    }
    if (object.type == "conductor" || object.type == "roughconductor") {
        if (object.has("eta") && object.has("k"))
            object.erase("material"); // which only supplied what they left out
        else if (!object.has("material"))
            object.set("material", std::string("Cu"));
        if (!object.has("ext_eta"))
            object.set("ext_eta", std::string("air"));
    }
    // The one texture inside needed no name.
    if (object.type == "normalmap")
        for (Property &p : object.all())
            if (p.object() && (*p.object())->kind == "texture" && !object.has("normalmap"))
                p.name = "normalmap";
}

// Files brought their own materials, unless one was given for all.
void upgrade_obj(Properties &object) {
    bool is_given = false;
    for (const Property &p : object.all())
        if (p.name.empty() || p.name == "bsdf")
            is_given |= p.object() ? (*p.object())->kind == "bsdf"
                                   : std::holds_alternative<Reference>(p.value);
    bool wants = !object.has("load_materials") || object.get<bool>("load_materials");
    object.erase("load_materials");
    if (wants && !is_given && object.has("filename"))
        object.set("load_materials", true);
}

// Where two media met, and no BSDF was given, light went straight on. Other references may be to a BSDF.
void upgrade_shape(Properties &object) {
    auto may_be_bsdf = [](const Property &p) {
        return p.object() ? (*p.object())->kind == "bsdf"
                          : std::holds_alternative<Reference>(p.value) && p.name != "interior" &&
                                p.name != "exterior";
    };
    if ((object.has("interior") || object.has("exterior")) &&
        std::none_of(object.all().begin(), object.all().end(), may_be_bsdf))
        object.set("", Properties("bsdf", "null"));
}

void fill_grid_box(Properties &object) {
    const Property *low = object.find("min"), *high = object.find("max");
    if (!low || !high) {
        if (!object.has("use_grid_bbox"))
            object.set("use_grid_bbox", true);
        return;
    }
    VectorData a = object.get<VectorData>("min"), b = object.get<VectorData>("max");
    TransformData to_world = object.get<TransformData>("to_world", TransformData());
    SourceLocation where = low->where;
    object.erase("min");
    object.erase("max");
    object.set("to_world",
               to_world * TransformData::translate({ a.x, a.y, a.z }) *
                   TransformData::scale({ b.x - a.x, b.y - a.y, b.z - a.z }),
               where);
}

void raise_zenith(Properties &object) {
    TransformData turn; // from south, west and up to east, up and south
    const double rows[3][3] = { { 0, -1, 0 }, { 0, 0, 1 }, { 1, 0, 0 } };
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            turn(i, k) = rows[i][k];
    object.set("to_world", object.get<TransformData>("to_world", TransformData()) * turn);
    if (!object.has("albedo"))
        object.set("albedo", 0.15);
    if (!object.has("sun_model")) // that of `sun`
        object.set("sun_model", std::string("preetham"));
}

// A direction took the place of whatever else said where the sun is.
void prefer_sun_direction(Properties &object) {
    if (object.has("sun_direction"))
        for (const char *name : { "year", "month", "day", "hour", "minute", "second", "latitude",
                                  "longitude", "timezone" })
            object.erase(name);
}

/// Of a list that is separated by commas.
std::vector<std::string> words(std::string_view list) {
    std::vector<std::string> out;
    while (!list.empty()) {
        std::string_view word = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), word.size() + 1));
        word.remove_prefix(std::min(word.size(), word.find_first_not_of(" \t\n")));
        out.emplace_back(word.substr(0, word.find_last_not_of(" \t\n") + 1));
    }
    return out;
}

// Names that a film had for the integrators of `multichannel`, in their order.
void name_channels(Properties &scene, const std::vector<std::string> &channels) {
    for (const PropertiesPtr &integrator : scene.objects("integrator")) {
        if (integrator->type != "multichannel")
            continue;
        size_t i = 0;
        for (Property &p : integrator->all())
            if (p.object() && (*p.object())->kind == "integrator" && i < channels.size())
                if (const std::string &name = channels[i++]; p.name.empty())
                    p.name = name;
    }
}

// Coefficients were those of skin where none were given.
void upgrade_medium(Properties &object) {
    if (object.type != "homogeneous")
        return;
    for (const char *name : { "material", "sigma_s", "sigma_a", "sigma_t", "albedo" })
        if (object.has(name))
            return;
    object.set("material", std::string("skin1"));
}

} // namespace

std::string_view canonical_kind(std::string_view tag) {
    if (tag == "luminaire")
        return "emitter";
    if (tag == "camera")
        return "sensor";
    return tag;
}

void upgrade_object(Properties &object, const Version &version, Remarks &remarks) {
    if (version.is_old())
        for (const PluginRename &rename : PluginRenames)
            if (object.kind == rename.kind && object.type == rename.from) {
                object.type = rename.to;
                break;
            }
    for (const ParameterRename &rename : ParameterRenames) {
        if (version >= rename.before || !rename.is_of(object) || object.has(rename.to))
            continue;
        if (Property *p = object.find(rename.from))
            p->name = rename.to;
    }
    if (!version.is_old())
        return;

    if (object.kind == "texture")
        upgrade_texture(object);
    else if (object.kind == "bsdf")
        upgrade_bsdf(object);
    else if (object.kind == "shape") {
        if (object.type == "obj")
            upgrade_obj(object);
        if (object.type == "ply" && !object.has("srgb")) // what colours were, unless told otherwise
            object.set("srgb", true);
        upgrade_shape(object);
    } else if (object.kind == "medium")
        upgrade_medium(object);
    // Grids filled the box of their file, unless another one was given. How files travel, or are kept, shows in no image.
    if (object.kind == "volume" && object.type == "gridvolume") {
        object.erase("send_data");
        fill_grid_box(object);
    }
    if (object.type == "bitmap" || object.type == "envmap")
        object.erase("cache");
    if (object.kind == "volume" && object.type == "volcache") // which has no blocks any more
        object.erase("block_size");

    // The zenith was +y, and skies were images of a given size.
    if (object.kind == "emitter" &&
        (object.type == "sunsky" || object.type == "sky" || object.type == "sun")) {
        object.erase("resolution");
        prefer_sun_direction(object);
        if (object.type == "sunsky")
            raise_zenith(object);
    }

    // Logs were part of files, which shows in no image, and there are no banners to leave out.
    if (object.kind == "film") {
        object.erase("attach_log");
        if (object.has("banner") && !object.get<bool>("banner"))
            object.erase("banner");
    }
    if (object.kind == "scene")
        name_channels(object, remarks.channels);
    // Enumerators changed their spelling too: luminanceAlpha.
    if (object.kind == "film")
        if (Property *p = object.find("pixel_format"))
            if (auto *format = std::get_if<std::string>(&p->value)) {
                // Lists were for `multichannel`, whose integrators now say what their channels are
                if (format->find(',') != std::string::npos) {
                    if (object.has("channel_names"))
                        remarks.channels = words(object.get<std::string>("channel_names"));
                    object.erase("channel_names");
                }
                *format = snake_case(format->substr(0, format->find(',')));
            }

    // Before 0.4: which side of the image the angle of view is that of.
    if (object.kind == "sensor" && !object.has("fov_axis"))
        if (Property *p = object.find("map_smaller_side"))
            if (auto *smaller = std::get_if<bool>(&p->value)) {
                p->value = std::string(*smaller ? "smaller" : "larger");
                p->name = "fov_axis";
            }
    adapt_object(object, remarks);
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
    scene_xml::Remarks remarks; // scripts are not told: they see what became of it
    upgrade_object(object, v, remarks);
}

} // namespace umbel
