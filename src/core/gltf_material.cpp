// core/gltf_material.cpp: see gltf_material.h.
//
// Materials are of the metallic-roughness kind: `principled`.
#include "core/gltf_material.h"
#include "jit/parallel.h"
#include <algorithm>

namespace umbel {

namespace {

/// The picture without alpha, times a colour.
Image scaled(const Image &picture, const std::array<double, 3> &factor) {
    Image rgb = to_model(picture, ColourModel::Rgb, false);
    if (factor[0] == 1 && factor[1] == 1 && factor[2] == 1)
        return rgb;
    Image out = convert(rgb, Component::F32, false);
    for (size_t i = 0; i < 3 * out.pixels(); ++i)
        out.data<float>()[i] *= float(factor[i % 3]);
    return out;
}

/// One channel as numbers, times a factor.
Image channel(const Image &picture, size_t c, double factor) {
    Image out(picture.width(), picture.height(), { "Y" }, Component::F32);
    c = std::min(c, picture.channel_count() - 1);
    for (size_t y = 0; y < out.height(); ++y)
        for (size_t x = 0; x < out.width(); ++x)
            out.set(x, y, 0, picture.get(x, y, c) * factor);
    return out;
}

/// Of a map of normals, as steep as a factor makes them.
Image steeper(const Image &picture, double factor) {
    Image rgb = to_model(picture, ColourModel::Rgb, false);
    rgb.set_srgb(false);
    if (factor == 1)
        return rgb;
    Image out = convert(rgb, Component::F32, false);
    for (size_t i = 0; i < 3 * out.pixels(); ++i)
        if (float &v = out.data<float>()[i]; i % 3 < 2)
            v = 0.5f + (v - 0.5f) * float(factor);
    return out;
}

} // namespace

GltfMaterials::GltfMaterials(const GltfFile &file, std::filesystem::path path,
                             std::shared_ptr<const FileResolver> files)
    : m_file(file), m_path(std::move(path)), m_files(std::move(files)),
      m_bsdfs(file.materials().size() + 1) {}

Properties GltfMaterials::make(const char *kind, const char *type) const {
    Properties p(kind, type);
    p.where.file = std::make_shared<std::string>(m_path.string());
    p.files = m_files;
    return p;
}

const GltfFile::Material &GltfMaterials::material(int i) const {
    static const GltfFile::Material none;
    return i < 0 ? none : m_file.materials()[size_t(i)];
}

// ---- images

void GltfMaterials::decode(int image, Decoded &to) const {
    try {
        to.image = m_file.image(image);
    } catch (...) {
        to.error = std::current_exception(); // thrown by who asks for it
    }
}

void GltfMaterials::decode(const std::set<int> &materials) {
    std::vector<std::pair<int, Decoded *>> all;
    for (int i : materials) {
        const GltfFile::Material &m = material(i);
        for (const GltfFile::Texture *t : m.textures())
            if (t->image >= 0 && !m_images.contains(t->image))
                all.emplace_back(t->image, &m_images[t->image]);
    }
    jit::parallel_for(size_t(0), all.size(),
                      [&](size_t i) { decode(all[i].first, *all[i].second); });
}

const Image &GltfMaterials::image(const GltfFile::Texture &t) {
    auto [it, fresh] = m_images.try_emplace(t.image);
    if (fresh)
        decode(t.image, it->second);
    if (it->second.error)
        std::rethrow_exception(it->second.error);
    return it->second.image;
}

PropertiesPtr GltfMaterials::texture(const GltfFile::Texture &t, bool raw, const std::string &what,
                                     const Picture &picture) {
    std::string key = fmt::format("{} {} {} {} {} {}", t.image, t.wrap_u, t.wrap_v, t.filter,
                                  raw, what);
    if (t.to_uv)
        key += fmt::format(" {}", fmt::join(t.to_uv->m, " "));
    PropertiesPtr &known = m_textures[key];
    if (known)
        return known;
    Properties p = make("texture", "bitmap");
    p.set("bitmap", std::shared_ptr<const Image>(std::make_shared<Image>(picture(image(t)))))
        .set("wrap_mode_u", t.wrap_u)
        .set("wrap_mode_v", t.wrap_v)
        .set("filter_type", t.filter)
        .set("raw", raw);
    if (t.to_uv)
        p.set("to_uv", *t.to_uv);
    return known = std::make_shared<Properties>(std::move(p));
}

PropertiesPtr GltfMaterials::colour(const GltfFile::Texture &t,
                                    const std::array<double, 3> &factor) {
    return texture(t, false, fmt::format("colour {}", fmt::join(factor, " ")),
                   [&](const Image &i) { return scaled(i, factor); });
}

void GltfMaterials::set_colour(Properties &p, const char *name, const GltfFile::Texture &t,
                               const std::array<double, 3> &factor) {
    if (t.image >= 0)
        p.set(name, colour(t, factor));
    else
        p.set(name, SpectrumData::from_rgb(factor));
}

void GltfMaterials::set_channel(Properties &p, const char *name, const GltfFile::Texture &t,
                                size_t c, double factor) {
    if (t.image >= 0)
        p.set(name, texture(t, true, fmt::format("channel {} {}", c, factor),
                            [&](const Image &i) { return channel(i, c, factor); }));
    else
        p.set(name, factor);
}

void GltfMaterials::set_normals(Properties &p, const GltfFile::Texture &t) {
    p.set("normalmap", texture(t, true, fmt::format("normals {}", t.scale),
                               [&](const Image &i) { return steeper(i, t.scale); }));
}

void GltfMaterials::set_opacity(Properties &p, const GltfFile::Material &m) {
    const GltfFile::Texture &t = m.base_colour_texture;
    double factor = m.base_colour[3];
    bool is_mask = m.alpha_mode == "MASK";
    auto opacity = [&](double v) { return is_mask ? double(v >= m.alpha_cutoff) : v; };
    if (t.image < 0 || !has_alpha(image(t))) {
        p.set("opacity", opacity(factor));
        return;
    }
    auto picture = [&](const Image &i) {
        Image alpha = channel(i, i.channel_count() - 1, factor);
        for (size_t k = 0; k < alpha.pixels(); ++k)
            alpha.data<float>()[k] = float(opacity(alpha.data<float>()[k]));
        return alpha;
    };
    p.set("opacity",
          texture(t, true, fmt::format("opacity {} {} {}", factor, is_mask, m.alpha_cutoff),
                  picture));
}

// ---- surfaces

PropertiesPtr GltfMaterials::bsdf(int i) {
    PropertiesPtr &known = m_bsdfs[size_t(i + 1)];
    if (!known)
        known = std::make_shared<Properties>(make_bsdf(material(i)));
    return known;
}

Properties GltfMaterials::make_bsdf(const GltfFile::Material &m) {
    Properties p = make("bsdf", "principled");
    set_colour(p, "base_color", m.base_colour_texture,
               { m.base_colour[0], m.base_colour[1], m.base_colour[2] });
    set_channel(p, "roughness", m.metallic_roughness_texture, 1, m.roughness);
    set_channel(p, "metallic", m.metallic_roughness_texture, 2, m.metallic);
    auto put_into = [&](const char *type, auto &&prepare) {
        Properties outer = make("bsdf", type);
        prepare(outer);
        outer.set("", std::move(p));
        p = std::move(outer);
    };
    if (m.normal_texture.image >= 0)
        put_into("normalmap", [&](Properties &outer) { set_normals(outer, m.normal_texture); });
    if (m.double_sided)
        put_into("twosided", [](Properties &) {});
    if (m.alpha_mode != "OPAQUE")
        put_into("mask", [&](Properties &outer) { set_opacity(outer, m); });
    return p;
}

void GltfMaterials::add_emission(int i, Properties &shape) {
    const GltfFile::Material &m = material(i);
    if (*std::max_element(m.emission.begin(), m.emission.end()) <= 0)
        return;
    Properties area = make("emitter", "area");
    set_colour(area, "radiance", m.emission_texture, m.emission);
    shape.set("", std::move(area));
}

} // namespace umbel
