// core/gltf_material.cpp: see gltf_material.h.
//
// Materials are of the metallic-roughness kind: `principled`. Those that let light through are `principled`, too, where they
// have a volume, which bends light and may absorb it; else they are thin: of `principledthin`, as far as they are clear.
#include "core/gltf_material.h"
#include "jit/parallel.h"
#include <algorithm>
#include <cmath>

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

bool has_holes(const GltfFile::Material &m) { return m.alpha_mode != "OPAQUE"; }
double opacity(const GltfFile::Material &m, double alpha) {
    return m.alpha_mode == "MASK" ? double(alpha >= m.alpha_cutoff) : alpha;
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
                             std::shared_ptr<const FileResolver> files, Remark remark)
    : m_file(file), m_path(std::move(path)), m_files(std::move(files)),
      m_remark(std::move(remark)) {}

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
    std::string key =
        fmt::format("{} {} {} {} {} {}", t.image, t.wrap_u, t.wrap_v, t.filter, raw, what);
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
    if (t.image < 0 || !has_alpha(image(t))) {
        p.set("opacity", opacity(m, factor));
        return;
    }
    auto picture = [&](const Image &i) {
        Image alpha = channel(i, i.channel_count() - 1, factor);
        for (size_t k = 0; k < alpha.pixels(); ++k)
            alpha.data<float>()[k] = float(opacity(m, alpha.data<float>()[k]));
        return alpha;
    };
    p.set("opacity",
          texture(t, true, fmt::format("opacity {} {} {}", factor, m.alpha_mode, m.alpha_cutoff),
                  picture));
}

// ---- surfaces

void GltfMaterials::remark_on(const GltfFile::Material &m, uint32_t colour_size) {
    std::vector<std::string> all = m.left_out;
    bool shines = m.is_unlit || *std::max_element(m.emission.begin(), m.emission.end()) > 0;
    if (m.double_sided && shines)
        all.push_back("light of the back of its surface");
    if (m.anisotropy > 0 && m.metallic_roughness_texture.image >= 0)
        all.push_back("KHR_materials_anisotropy, beside a texture of roughness");
    if (colour_size && m.is_unlit)
        all.push_back("COLOR_0, beside KHR_materials_unlit");
    if (colour_size == 4 && m.alpha_mode == "MASK")
        all.push_back("alpha of COLOR_0, beside alphaCutoff");
    if (m.specular != 1 && m.transmission > 0)
        all.push_back("KHR_materials_specular, beside KHR_materials_transmission");
    if (m.clearcoat > 0 && m.transmission > 0 && !m.has_volume && !m.is_unlit)
        all.push_back(
            "KHR_materials_clearcoat, beside KHR_materials_transmission without a volume");
    if (has_holes(m) && shines && !m.is_unlit && m.emission_texture.image >= 0 &&
        m.base_colour_texture.image >= 0 && m.emission_texture.image != m.base_colour_texture.image)
        all.push_back("holes in its light");
    std::string text = fmt::format("{}: material {}: left out: {}", m_path.string(), quote(m.name),
                                   fmt::join(all, ", "));
    if (!all.empty() && m_told.insert(text).second)
        m_remark(std::move(text));
}

PropertiesPtr GltfMaterials::bsdf(int i, uint32_t colour_size) {
    PropertiesPtr &known = m_bsdfs[{ i, colour_size }];
    if (!known) {
        known = std::make_shared<Properties>(make_bsdf(material(i), colour_size));
        remark_on(material(i), colour_size);
    }
    return known;
}

/// A parameter that is there already, by what vertices have.
void GltfMaterials::multiply(Properties &p, const char *name, const char *attribute) const {
    Properties t = make("texture", "mesh_attribute");
    t.set("name", std::string(attribute)).set("factor", p.find(name)->value);
    p.set(name, std::move(t));
}

Properties GltfMaterials::around(const char *type, Properties inner) const {
    Properties outer = make("bsdf", type);
    outer.set("", std::move(inner));
    return outer;
}

Properties GltfMaterials::blend(Properties first, Properties second) const {
    return around("blendbsdf", std::move(first)).set("", std::move(second));
}

void GltfMaterials::set_metallic(Properties &p, const char *name, const GltfFile::Material &m) {
    set_channel(p, name, m.metallic_roughness_texture, 2, m.metallic);
}

/// What `principled` and `principledthin` have in common.
Properties GltfMaterials::principled(const char *type, const GltfFile::Material &m,
                                     uint32_t colour_size) {
    Properties p = make("bsdf", type);
    set_colour(p, "base_color", m.base_colour_texture,
               { m.base_colour[0], m.base_colour[1], m.base_colour[2] });
    if (colour_size)
        multiply(p, "base_color", "vertex_color");
    // Wider along the tangent: slopes of alpha and mix(alpha, 1, strength^2), whose ratio is that of `anisotropic`
    double alpha = m.roughness * m.roughness,
           along = alpha + (1 - alpha) * m.anisotropy * m.anisotropy;
    bool is_stretched = along > alpha && m.metallic_roughness_texture.image < 0;
    set_channel(p, "roughness", m.metallic_roughness_texture, 1,
                is_stretched ? std::pow(alpha * along, 0.25) : m.roughness);
    if (is_stretched)
        p.set("anisotropic", std::min((1 - alpha / along) / 0.9, 1.0));
    if (double sheen = *std::max_element(m.sheen.begin(), m.sheen.end()); sheen > 0)
        p.set("sheen", std::min(sheen, 1.0));
    return p;
}

Properties GltfMaterials::make_bsdf(const GltfFile::Material &m, uint32_t colour_size) {
    bool is_clear = m.transmission > 0;
    Properties p = make("bsdf", "diffuse");
    if (m.is_unlit)
        p.set("reflectance", 0.0);
    else if (is_clear && !m.has_volume)
        p = make_thin_bsdf(m, colour_size);
    else {
        p = principled("principled", m, colour_size);
        set_metallic(p, "metallic", m);
        if (is_clear)
            set_channel(p, "spec_trans", m.transmission_texture, 0, m.transmission);
        // Of what is not bent, the index says only how much is reflected: r0 is ((eta - 1) / (eta + 1))^2
        double root = (m.ior - 1) / (m.ior + 1) * (is_clear ? 1 : std::sqrt(m.specular));
        if (m.ior != 1.5 || (m.specular != 1 && !is_clear))
            p.set("eta", (1 + std::min(root, 0.99)) / (1 - std::min(root, 0.99)));
        if (m.clearcoat > 0) {
            set_channel(p, "clearcoat", m.clearcoat_texture, 0, m.clearcoat);
            // `principled` has slopes from 0.1 to 0.001
            double alpha = m.clearcoat_roughness * m.clearcoat_roughness;
            p.set("clearcoat_gloss", std::clamp((0.1 - alpha) / (0.1 - 0.001), 0.0, 1.0));
        }
    }
    if (m.normal_texture.image >= 0 && !m.is_unlit) {
        p = around("normalmap", std::move(p));
        set_normals(p, m.normal_texture);
    }
    if (m.double_sided && !is_clear)
        p = around("twosided", std::move(p));
    if (has_holes(m)) {
        p = around("mask", std::move(p));
        set_opacity(p, m);
        if (colour_size == 4 && m.alpha_mode == "BLEND")
            multiply(p, "opacity", "vertex_alpha");
    }
    return p;
}

// Metal, and what is no metal: in part clear, in part not.
Properties GltfMaterials::make_thin_bsdf(const GltfFile::Material &m, uint32_t colour_size) {
    auto opaque = [&](double metallic) { // seen from both sides, as what is clear
        Properties p = principled("principled", m, colour_size);
        if (m.ior != 1.5)
            p.set("eta", m.ior);
        return around("twosided", p.set("metallic", metallic));
    };
    Properties p = principled("principledthin", m, colour_size);
    p.set("spec_trans", 1.0).set("eta", m.ior);
    if (m.transmission < 1 || m.transmission_texture.image >= 0) {
        p = blend(opaque(0), std::move(p));
        set_channel(p, "weight", m.transmission_texture, 0, m.transmission);
    }
    if (m.metallic > 0) {
        p = blend(std::move(p), opaque(1));
        set_metallic(p, "weight", m);
    }
    return p;
}

PropertiesPtr GltfMaterials::medium(int i) {
    const GltfFile::Material &m = material(i);
    const auto &left = m.attenuation_colour; // of light, after the distance
    if (m.transmission <= 0 || !m.has_volume || std::isinf(m.attenuation_distance) ||
        *std::min_element(left.begin(), left.end()) >= 1)
        return nullptr;
    PropertiesPtr &known = m_media[i];
    if (known)
        return known;
    std::array<double, 3> sigma_t;
    for (size_t k = 0; k < 3; ++k)
        sigma_t[k] = std::log(1 / std::clamp(left[k], 1e-4, 1.0)) / m.attenuation_distance;
    Properties p = make("medium", "homogeneous");
    p.set("albedo", 0.0).set("sigma_t", SpectrumData::from_rgb(sigma_t));
    return known = std::make_shared<Properties>(std::move(p));
}

// `area` does not know of `mask`: holes must not shine.
void GltfMaterials::add_emission(int i, Properties &shape) {
    const GltfFile::Material &m = material(i);
    const double *base = m.base_colour.data();
    std::array<double, 3> factor =
        m.is_unlit ? std::array{ base[0], base[1], base[2] } : m.emission;
    const GltfFile::Texture &light = m.is_unlit ? m.base_colour_texture : m.emission_texture,
                            &holes = m.base_colour_texture;
    bool in_picture = has_holes(m) && holes.image >= 0 && has_alpha(image(holes));
    if (has_holes(m) && !in_picture)
        for (double &v : factor)
            v *= opacity(m, base[3]);
    if (*std::max_element(factor.begin(), factor.end()) <= 0)
        return;
    Properties area = make("emitter", "area");
    bool is_coloured = light.image >= 0;
    if (in_picture && (!is_coloured || light.image == holes.image)) {
        auto picture = [&](const Image &i) {
            Image alpha = channel(i, i.channel_count() - 1, base[3]),
                  out = convert(scaled(i, factor), Component::F32, false);
            for (size_t k = 0; k < 3 * out.pixels(); ++k) {
                float &v = out.data<float>()[k];
                v = (is_coloured ? v : float(factor[k % 3])) *
                    float(opacity(m, alpha.data<float>()[k / 3]));
            }
            return out;
        };
        area.set("radiance",
                 texture(holes, false,
                         fmt::format("light {} {} {} {} {}", is_coloured, fmt::join(factor, " "),
                                     base[3], m.alpha_mode, m.alpha_cutoff),
                         picture));
    } else
        set_colour(area, "radiance", light, factor);
    shape.set("", std::move(area));
}

} // namespace umbel
