// core/gltf_scene.cpp: what a glTF file shows, as Properties.
//
// Numbers of lights are taken as they are: candela and lux of the file are units of radiant intensity and irradiance here.
#include "core/gltf_material.h"
#include "core/load_warnings.h"
#include "core/object.h"
#include "core/scene_file.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

constexpr double Degrees = 180 / 3.14159265358979323846;

class Converter {
public:
    Converter(const GltfFile &file, const std::filesystem::path &path,
              std::shared_ptr<const FileResolver> files, const GltfMaterials::Remark &remark)
        : m_file(file), m_path(path), m_materials(file, path, std::move(files), remark) {}

    Properties make(const char *kind, const char *type) const {
        return m_materials.make(kind, type);
    }

    PropertiesPtr shape(const GltfFile::Node &node, int primitive, const TransformData &to_world) {
        Properties p = make("shape", "gltf");
        p.set("filename", std::filesystem::absolute(m_path).string())
            .set("mesh", int64_t(node.mesh))
            .set("primitive", int64_t(primitive))
            .set("to_world", to_world * node.to_world);
        int material = m_file.material_of(node.mesh, primitive);
        if (int set = material < 0 ? 0 : m_file.materials()[size_t(material)].uv_set;
            set && m_file.has_uvs(node.mesh, primitive, set))
            p.set("uv_set", int64_t(set));
        p.set("", m_materials.bsdf(material, m_file.colour_size(node.mesh, primitive)));
        m_materials.add_emission(material, p);
        bool is_unlit = material >= 0 && m_file.materials()[size_t(material)].is_unlit;
        m_has_lamps |= !is_unlit && !p.objects("emitter").empty();
        if (PropertiesPtr medium = m_materials.medium(material))
            p.set("interior", std::move(medium));
        return std::make_shared<Properties>(std::move(p));
    }

    /// Whether a shape so far lights others. What is unlit does not, although it shines.
    bool has_lamps() const { return m_has_lamps; }

    /// Of the nodes' meshes, moved by a transform.
    std::vector<PropertiesPtr> shapes(const TransformData &to_world) {
        std::set<int> materials;
        for (auto [node, primitive] : shown())
            materials.insert(m_file.material_of(node->mesh, primitive));
        m_materials.decode(materials);
        std::vector<PropertiesPtr> out;
        for (auto [node, primitive] : shown())
            out.push_back(shape(*node, primitive, to_world));
        return out;
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
    /// Parts of meshes that are made of triangles.
    std::vector<std::pair<const GltfFile::Node *, int>> shown() const {
        std::vector<std::pair<const GltfFile::Node *, int>> out;
        for (const GltfFile::Node &n : m_file.nodes())
            for (int i = 0; n.mesh >= 0 && i < int(m_file.primitive_count(n.mesh)); ++i)
                if (m_file.has_triangles(n.mesh, i))
                    out.emplace_back(&n, i);
        return out;
    }

    const GltfFile &m_file;
    std::filesystem::path m_path;
    GltfMaterials m_materials;
    bool m_has_lamps = false;
};

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
    Converter c(file, path, std::move(files), warn_while_loading);
    return c.shapes(to_world);
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
    Converter c(*file, path, files, [&](std::string text) {
        if (options.warnings)
            options.warnings->push_back(std::move(text));
    });
    Properties scene = c.make("scene", "scene");
    bool has_camera = false, has_light = false, has_medium = false;
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
    for (const PropertiesPtr &s : c.shapes({})) {
        has_medium |= s->has("interior");
        scene.set("", s);
    }
    if (!has_camera)
        scene.set("", default_camera(c, *file));
    if (!has_light && !c.has_lamps())
        scene.set("", c.make("emitter", "constant"));
    if (has_medium)
        scene.set("", c.make("integrator", "volpath"));
    return scene;
}

} // namespace umbel
