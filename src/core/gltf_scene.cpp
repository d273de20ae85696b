// core/gltf_scene.cpp: what a glTF file shows, as Properties.
//
// Materials are of the metallic-roughness kind: `principled`. Numbers of lights are taken as they are: candela and lux of the
// file are units of radiant intensity and irradiance here.
#include "core/gltf.h"
#include "core/object.h"
#include "core/scene_file.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

constexpr double Degrees = 180 / 3.14159265358979323846;

class Converter {
public:
    Converter(const GltfFile &file, std::filesystem::path path,
              std::shared_ptr<const FileResolver> files)
        : m_file(file), m_path(std::move(path)), m_files(std::move(files)),
          m_materials(file.materials().size() + 1) {}

    Properties make(const char *kind, const char *type) const {
        Properties p(kind, type);
        p.where.file = std::make_shared<std::string>(m_path.string());
        p.files = m_files;
        return p;
    }

    PropertiesPtr shape(const GltfFile::Node &node, int primitive, const TransformData &to_world) {
        Properties p = make("shape", "gltf");
        p.set("filename", std::filesystem::absolute(m_path).string())
            .set("mesh", int64_t(node.mesh))
            .set("primitive", int64_t(primitive))
            .set("to_world", to_world * node.to_world);
        int material = m_file.material_of(node.mesh, primitive);
        PropertiesPtr &bsdf = m_materials[size_t(material + 1)];
        if (!bsdf)
            bsdf = std::make_shared<Properties>(this->bsdf(
                material < 0 ? GltfFile::Material() : m_file.materials()[size_t(material)]));
        p.set("", bsdf);
        if (material >= 0)
            add_emission(m_file.materials()[size_t(material)], p);
        return std::make_shared<Properties>(std::move(p));
    }

    // ---- materials: the one place where glTF's become Umbel's

    Properties bsdf(const GltfFile::Material &m) const {
        Properties p = make("bsdf", "principled");
        set_colour(p, "base_color", m);
        set_channel(p, "roughness", m.metallic_roughness_texture, 1, m.roughness);
        set_channel(p, "metallic", m.metallic_roughness_texture, 2, m.metallic);
        if (m.normal_texture.image >= 0) {
            Properties normal = make("bsdf", "normalmap");
            normal.set("normalmap",
                       texture(m.normal_texture, normal_image(m.normal_texture), true));
            normal.set("", std::move(p));
            p = std::move(normal);
        }
        if (m.double_sided) {
            Properties both = make("bsdf", "twosided");
            both.set("", std::move(p));
            p = std::move(both);
        }
        if (m.alpha_mode != "OPAQUE") {
            Properties mask = make("bsdf", "mask");
            set_opacity(mask, m);
            mask.set("", std::move(p));
            p = std::move(mask);
        }
        return p;
    }

    void add_emission(const GltfFile::Material &m, Properties &shape) const {
        if (*std::max_element(m.emission.begin(), m.emission.end()) <= 0)
            return;
        Properties area = make("emitter", "area");
        if (m.emission_texture.image < 0)
            area.set("radiance",
                     SpectrumData::from_rgb({ m.emission[0], m.emission[1], m.emission[2] }));
        else
            area.set("radiance", texture(m.emission_texture,
                                         scaled(image(m.emission_texture), m.emission), false));
        shape.set("", std::move(area));
    }

    // ---- cameras and lights look along -z

    Properties sensor(const GltfFile::Node &n) const {
        const GltfFile::Camera &c = m_file.camera(n.camera);
        TransformData turn = n.to_world * TransformData::scale({ -1, 1, -1 });
        Properties p = make("sensor", c.is_perspective ? "perspective" : "orthographic");
        if (c.is_perspective)
            p.set("fov", c.fov_y * Degrees).set("fov_axis", std::string("y"));
        else
            turn = turn * TransformData::scale({ c.width, c.width, 1 });
        return p.set("near_clip", std::max(c.near_clip, 1e-6))
            .set("far_clip", std::max(c.far_clip, 2 * std::max(c.near_clip, 1e-6)))
            .set("to_world", turn);
    }

    Properties light(const GltfFile::Node &n) const {
        const GltfFile::Light &l = m_file.light(n.light);
        TransformData turn = n.to_world * TransformData::scale({ -1, 1, -1 });
        SpectrumData colour =
            SpectrumData::from_rgb({ l.intensity[0], l.intensity[1], l.intensity[2] });
        if (l.type == "directional")
            return make("emitter", "directional").set("irradiance", colour).set("to_world", turn);
        if (l.type == "spot")
            return make("emitter", "spot")
                .set("intensity", colour)
                .set("cutoff_angle", std::min(89.9, l.outer * Degrees))
                .set("beam_width", std::min(89.8, std::min(l.inner, l.outer * 0.999) * Degrees))
                .set("to_world", turn);
        if (l.type == "point") {
            auto at = n.to_world.apply_point({ 0, 0, 0 });
            return make("emitter", "point")
                .set("intensity", colour)
                .set("position", VectorData{ at[0], at[1], at[2], true });
        }
        fail("{}: a light of type {}; it must be directional, point or spot", m_path.string(),
             quote(l.type));
    }

private:
    Image image(const GltfFile::Texture &t) const { return m_file.image(t.image); }

    /// The picture without alpha, times a colour.
    template <class C> static Image scaled(const Image &picture, const C &factor) {
        Image rgb = to_model(picture, ColourModel::Rgb, false);
        if (factor[0] == 1 && factor[1] == 1 && factor[2] == 1)
            return rgb;
        Image out = convert(rgb, Component::F32, false);
        for (size_t i = 0; i < 3 * out.pixels(); ++i)
            out.data<float>()[i] *= float(factor[i % 3]);
        return out;
    }
    /// One channel as numbers, times a factor.
    static Image channel(const Image &picture, size_t c, double factor) {
        Image out(picture.width(), picture.height(), { "Y" }, Component::F32);
        c = std::min(c, picture.channel_count() - 1);
        for (size_t y = 0; y < out.height(); ++y)
            for (size_t x = 0; x < out.width(); ++x)
                out.set(x, y, 0, picture.get(x, y, c) * factor);
        return out;
    }
    Image normal_image(const GltfFile::Texture &t) const {
        Image rgb = to_model(image(t), ColourModel::Rgb, false);
        rgb.set_srgb(false);
        if (t.scale == 1)
            return rgb;
        Image out = convert(rgb, Component::F32, false);
        for (size_t i = 0; i < 3 * out.pixels(); ++i)
            if (float &v = out.data<float>()[i]; i % 3 < 2)
                v = 0.5f + (v - 0.5f) * float(t.scale);
        return out;
    }

    Properties texture(const GltfFile::Texture &t, Image picture, bool raw) const {
        Properties p = make("texture", "bitmap");
        p.set("bitmap", std::shared_ptr<const Image>(std::make_shared<Image>(std::move(picture))))
            .set("wrap_mode_u", t.wrap_u)
            .set("wrap_mode_v", t.wrap_v)
            .set("filter_type", t.filter)
            .set("raw", raw);
        if (t.to_uv)
            p.set("to_uv", *t.to_uv);
        return p;
    }
    void set_colour(Properties &p, const char *name, const GltfFile::Material &m) const {
        if (m.base_colour_texture.image >= 0)
            p.set(name, texture(m.base_colour_texture,
                                scaled(image(m.base_colour_texture), m.base_colour), false));
        else
            p.set(name,
                  SpectrumData::from_rgb({ m.base_colour[0], m.base_colour[1], m.base_colour[2] }));
    }
    void set_channel(Properties &p, const char *name, const GltfFile::Texture &t, size_t c,
                     double factor) const {
        if (t.image >= 0)
            p.set(name, texture(t, channel(image(t), c, factor), true));
        else
            p.set(name, factor);
    }
    void set_opacity(Properties &p, const GltfFile::Material &m) const {
        const GltfFile::Texture &t = m.base_colour_texture;
        double factor = m.base_colour[3];
        bool is_mask = m.alpha_mode == "MASK";
        auto opacity = [&](double v) { return is_mask ? double(v >= m.alpha_cutoff) : v; };
        Image picture;
        if (t.image >= 0)
            picture = image(t);
        if (t.image < 0 || !has_alpha(picture)) {
            p.set("opacity", opacity(factor));
            return;
        }
        Image alpha = channel(picture, picture.channel_count() - 1, factor);
        for (size_t i = 0; i < alpha.pixels(); ++i)
            alpha.data<float>()[i] = float(opacity(alpha.data<float>()[i]));
        p.set("opacity", texture(t, std::move(alpha), true));
    }

    const GltfFile &m_file;
    std::filesystem::path m_path;
    std::shared_ptr<const FileResolver> m_files;
    std::vector<PropertiesPtr> m_materials; // the first: of what has none
};

std::vector<PropertiesPtr> shapes_of(Converter &c, const GltfFile &file,
                                     const TransformData &to_world) {
    std::vector<PropertiesPtr> out;
    for (const GltfFile::Node &n : file.nodes())
        for (int i = 0; n.mesh >= 0 && i < int(file.primitive_count(n.mesh)); ++i)
            if (file.primitive(n.mesh, i))
                out.push_back(c.shape(n, i, to_world));
    return out;
}

// Around all that is there, seen from the front and a little from above.
Properties default_camera(const Converter &c, const GltfFile &file) {
    std::array<double, 3> low{ 1e300, 1e300, 1e300 }, high{ -1e300, -1e300, -1e300 };
    for (const GltfFile::Node &n : file.nodes()) {
        if (n.mesh < 0)
            continue;
        auto box = file.bounds_of(n.mesh);
        for (size_t i = 0; i < 8; ++i) {
            auto p = n.to_world.apply_point({ box[i & 1][0], box[i >> 1 & 1][1], box[i >> 2][2] });
            for (size_t k = 0; k < 3; ++k) {
                low[k] = std::min(low[k], p[k]);
                high[k] = std::max(high[k], p[k]);
            }
        }
    }
    std::array<double, 3> centre, from{ 0.5, 0.4, 1 };
    double radius = 0, length = std::hypot(from[0], from[1], from[2]);
    for (size_t k = 0; k < 3; ++k) {
        centre[k] = low[k] <= high[k] ? (low[k] + high[k]) / 2 : 0;
        radius = std::hypot(radius, low[k] <= high[k] ? (high[k] - low[k]) / 2 : 1);
    }
    radius = radius > 0 ? radius : 1;
    for (size_t k = 0; k < 3; ++k)
        from[k] = centre[k] + from[k] / length * radius * 3;
    Properties p = c.make("sensor", "perspective");
    p.set("fov", 45.0).set("near_clip", radius * 0.01).set("far_clip", radius * 100);
    if (auto look = TransformData::look_at(from, centre, { 0, 1, 0 }))
        p.set("to_world", *look);
    return p;
}

} // namespace

std::vector<PropertiesPtr> gltf_shapes(const GltfFile &file, const std::filesystem::path &path,
                                       std::shared_ptr<const FileResolver> files,
                                       const TransformData &to_world) {
    Converter c(file, path, std::move(files));
    return shapes_of(c, file, to_world);
}

Properties gltf_scene(const std::filesystem::path &path, const SceneFileOptions &options) {
    auto files = std::make_shared<FileResolver>();
    files->add_folder(path.parent_path().empty() ? "." : path.parent_path());
    for (const std::filesystem::path &f : options.search_folders)
        files->add_folder(f);
    if (!options.allowed_folders.empty()) {
        std::vector<std::filesystem::path> allowed = options.allowed_folders;
        allowed.push_back(path); // itself, which its shapes name, and not what lies beside it
        files->restrict_to(allowed);
    }
    std::shared_ptr<const GltfFile> file = GltfFile::open(path, files, options.max_bytes);
    Converter c(*file, path, files);
    Properties scene = c.make("scene", "scene");
    bool has_camera = false, has_light = false;
    for (const GltfFile::Node &n : file->nodes()) {
        if (n.camera >= 0) {
            scene.set("", c.sensor(n));
            has_camera = true;
        }
        if (n.light >= 0) {
            scene.set("", c.light(n));
            has_light = true;
        }
    }
    for (const PropertiesPtr &s : shapes_of(c, *file, {})) {
        for (const PropertiesPtr &o : s->objects("emitter"))
            has_light |= o != nullptr;
        scene.set("", s);
    }
    if (!has_camera)
        scene.set("", default_camera(c, *file));
    if (!has_light)
        scene.set("", c.make("emitter", "constant"));
    return scene;
}

} // namespace umbel
