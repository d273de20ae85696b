// core/params.cpp: filling members from Properties.
#include "core/host_array.h"
#include "core/nearest_name.h"
#include "core/object.h"
#include <algorithm>
#include <cctype>
#include <cmath>

namespace umbel {

Param &Params::add(const char *name, const char *type, std::string otherwise) {
    Param &p = m_list.emplace_back();
    p.name = name;
    p.type = type;
    p.otherwise = std::move(otherwise);
    return p;
}

void Params::reject(const char *name, std::string_view what) const {
    std::string text = fmt::format("parameter \"{}\" {}", name, what);
    if (const Property *p = m_properties->find(name))
        m_properties->fail_at(*p, text);
    throw UserError(fmt::format("{}: {}", m_properties->describe(), text));
}

void Params::check_range(const char *name, double v, double least, double most) const {
    if (!(v >= least && v <= most))
        reject(name, most - least == Infinite && std::isnan(v) ? "is not a number"
                     : most == Infinite ? fmt::format("is {}; it must be at least {}", v, least)
                     : least == -Infinite
                         ? fmt::format("is {}; it must be at most {}", v, most)
                         : fmt::format("is {}; it must lie between {} and {}", v, least, most));
}

// ---- values of the host

// Of a traversed object, Param::otherwise is what the host's value is.

Param &Params::boolean(const char *name, bool &v, bool otherwise) {
    if (fills(name))
        v = m_properties->get<bool>(name, otherwise);
    return add(name, "boolean", (traversing() ? v : otherwise) ? "true" : "false");
}

Param &Params::integer(const char *name, int &v, int otherwise, int least, int most) {
    if (fills(name)) {
        int64_t i = m_properties->get<int64_t>(name, otherwise);
        check_range(name, double(i), least, most);
        v = int(i);
    }
    return add(name, "integer", fmt::format("{}", traversing() ? v : otherwise));
}

Param &Params::number(const char *name, double &v, double otherwise, double least, double most) {
    if (fills(name)) {
        v = m_properties->get<double>(name, otherwise);
        check_range(name, v, least, most);
    }
    Param &p = add(name, "float", fmt::format("{}", traversing() ? v : otherwise));
    p.slot = &v;
    return p;
}

Param &Params::string(const char *name, std::string &v, std::string otherwise) {
    if (fills(name))
        v = m_properties->get<std::string>(name, otherwise);
    return add(name, "string", traversing() ? v : otherwise);
}

Param &Params::choice(const char *name, std::string &v, std::string otherwise,
                      std::vector<std::string> words) {
    string(name, v, otherwise);
    if (fills(name) && std::find(words.begin(), words.end(), v) == words.end()) { // RGBA is rgba
        std::string lower = v;
        for (char &c : lower)
            c = char(std::tolower(static_cast<unsigned char>(c)));
        if (std::find(words.begin(), words.end(), lower) != words.end())
            v = lower;
    }
    if (fills(name) && std::find(words.begin(), words.end(), v) == words.end())
        reject(name, fmt::format("is {}; it must be one of {}", quote(v), fmt::join(words, ", ")));
    m_list.back().type = fmt::format("{}", fmt::join(words, " | "));
    return m_list.back();
}

Param &Params::file(const char *name, std::filesystem::path &v) {
    if (loading())
        v = m_properties->get_file(name);
    Param &p = add(name, "file", "");
    p.is_required = true;
    return p;
}

Param &Params::image(const char *name, std::shared_ptr<const Image> &v) {
    if (loading())
        if (const Property *p = m_properties->query(name)) {
            auto *image = std::get_if<std::shared_ptr<const Image>>(&p->value);
            if (!image)
                reject(name, "is not an image");
            v = *image;
        }
    return add(name, "image", "none");
}

Param &Params::transform(const char *name, TransformData &v) {
    if (loading()) {
        v = m_properties->get<TransformData>(name, TransformData());
        if (!v.inverse())
            reject(name, "is singular: it squeezes space into a plane, a line or a point");
    }
    Param &p = add(name, "transform", "identity");
    p.slot = &v;
    return p;
}

Param &Params::animation(const char *name, AnimationData &v) {
    if (loading()) {
        v = m_properties->get<AnimationData>(name, AnimationData{ { 0 }, { {} } });
        for (const TransformData &key : v.transforms)
            if (!key.inverse())
                reject(name, "is singular: it squeezes space into a plane, a line or a point");
    }
    Param &p = add(name, "transform or animation", "identity");
    if (v.transforms.size() == 1)
        p.slot = &v.transforms[0];
    return p;
}

Param &Params::vector(const char *name, std::array<double, 3> &v, std::array<double, 3> otherwise) {
    if (loading()) {
        VectorData d = m_properties->get<VectorData>(
            name, VectorData{ otherwise[0], otherwise[1], otherwise[2] });
        v = { d.x, d.y, d.z };
    }
    Param &p =
        add(name, "vector", fmt::format("{}, {}, {}", otherwise[0], otherwise[1], otherwise[2]));
    p.slot = std::array{ &v[0], &v[1], &v[2] };
    return p;
}

Param &Params::spectrum(const char *name, SpectrumData &v, SpectrumData otherwise) {
    if (loading())
        v = m_properties->get<SpectrumData>(name, otherwise);
    return add(name, "spectrum", fmt::format("{}", otherwise.value));
}

// ---- traced values

Param &Params::scalar(const char *name, Float &v, double otherwise, double least, double most) {
    if (fills(name)) {
        double d = m_properties->get<double>(name, otherwise);
        check_range(name, d, least, most);
        if (loading()) // others are assigned by SceneParameters
            v = opaque_float(d);
    }
    Param &p = add(name, "float", fmt::format("{}", otherwise));
    p.slot = &v;
    return p;
}

const Value &BufferSlot::read() const {
    if (data->valid())
        return *data;
    if (auto *floats = std::get_if<std::vector<double> *>(&host))
        *data = float_array(**floats);
    else
        *data = jit::copy(**std::get_if<std::vector<uint32_t> *>(&host));
    return *data;
}

Param &Params::exposed(const char *name, Slot slot) {
    Param &p = add(name, "", "");
    p.slot = std::move(slot);
    return p;
}

// ---- objects

std::shared_ptr<Object> Params::load_texture(const char *name,
                                             const std::optional<SpectrumData> &otherwise) {
    const Property *p = m_properties->query(name);
    if (p && p->object()) {
        std::shared_ptr<Object> o = m_loader->load(*p->object());
        if (o->kind() != "texture" && o->kind() != "spectrum") {
            std::string kind = o->kind() == "bsdf" ? "BSDF" : o->kind();
            kind[0] = char(std::toupper(kind[0]));
            reject(name, "has an incompatible object type (expected Texture, got " + kind + ")");
        }
        return o;
    }
    if (!p && !otherwise)
        return nullptr;
    SpectrumData data = p ? m_properties->get<SpectrumData>(name) : *otherwise;
    // A plain number for light is so much white (D65); a <spectrum> of one number has equal energy instead
    bool is_plain = p && (std::holds_alternative<double>(p->value) ||
                          std::holds_alternative<int64_t>(p->value));
    if (is_plain && otherwise && otherwise->intent == SpectrumData::Intent::Illuminant)
        data = SpectrumData::from_rgb({ data.value, data.value, data.value });
    data.intent = otherwise ? otherwise->intent : SpectrumData::Intent::Unspecified;
    return m_loader->load_spectrum(data, *m_properties);
}

std::shared_ptr<Object> Params::load_volume(const char *name,
                                            const std::optional<SpectrumData> &otherwise) {
    const Property *p = m_properties->query(name);
    if (p && p->object())
        if (std::shared_ptr<Object> o = m_loader->load(*p->object()); o->kind() == "volume")
            return o;
    // A colour that could be a reflectance has the spectrum of one: of such, Mitsuba's media are made
    std::optional<SpectrumData> like = otherwise;
    auto *colour = p ? std::get_if<SpectrumData>(&p->value) : nullptr;
    if (colour && colour->kind == SpectrumData::Kind::Rgb &&
        *std::max_element(colour->rgb.begin(), colour->rgb.end()) <= 1)
        like = SpectrumData::uniform(0, SpectrumData::Intent::Reflectance);
    std::shared_ptr<Object> texture = load_texture(name, like);
    if (!texture)
        return nullptr;
    auto value = std::make_shared<Properties>("texture", texture->plugin());
    value->instance = texture;
    auto constant = std::make_shared<Properties>("volume", "constvolume");
    constant->where = m_properties->where;
    constant->files = m_properties->files;
    constant->set("value", value);
    return m_loader->load(constant);
}

std::shared_ptr<Object> Params::load_named(const char *name, const char *kind) {
    const Property *p = m_properties->query(name);
    if (!p)
        return nullptr;
    if (!p->object() || (*p->object())->kind != kind)
        m_properties->fail_at(*p, fmt::format("\"{}\" must be a {}", name, kind));
    return m_loader->load(*p->object());
}

std::vector<std::shared_ptr<Object>> Params::load_objects(const char *kind, size_t most) {
    std::vector<std::shared_ptr<Object>> out;
    for (const Property &p : m_properties->all())
        if (p.object() && (*p.object())->kind == kind) {
            p.queried = true;
            if (out.size() == most)
                m_properties->fail_at(p, fmt::format("only {} {} can be given here", most, kind));
            out.push_back(m_loader->load(*p.object()));
        }
    return out;
}

} // namespace umbel
