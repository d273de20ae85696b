// core/gltf.h: files of the format glTF 2.0, as text (.gltf) or binary (.glb).
//
// Read are meshes, nodes, materials, textures, cameras and the lights of KHR_lights_punctual; also KHR_texture_transform and,
// of KHR_materials_..., anisotropy, clearcoat, emissive_strength, ior, sheen, specular, transmission, unlit and volume. What cannot be
// left out without harm (compressed buffers, and whatever else a file requires) is an error. Animations, skins and morph
// targets are passed over: things stand as the file has them.
#pragma once
#include "core/image.h"
#include "core/limits.h"
#include "core/properties.h"
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

namespace umbel {

struct SceneFileOptions;

class GltfFile {
public:
    /// UserError for what cannot be read, with the place in the file. `files` says where else it may read; `most_text`, how many
    /// bytes its JSON may have, with what is written into it.
    explicit GltfFile(const std::filesystem::path &path,
                      std::shared_ptr<const FileResolver> files = nullptr,
                      size_t most_text = read_limits().scene_bytes);
    ~GltfFile();
    /// The same, shared while anyone uses it and the file is what it was.
    static std::shared_ptr<const GltfFile> open(const std::filesystem::path &path,
                                                std::shared_ptr<const FileResolver> files,
                                                size_t most_text = read_limits().scene_bytes);

    struct Node {
        std::string name;
        int mesh = -1, camera = -1, light = -1;
        TransformData to_world;
    };
    /// Those of the scene that the file shows, parents before their children.
    const std::vector<Node> &nodes() const;

    struct Texture {
        int image = -1;
        std::string wrap_u = "repeat", wrap_v = "repeat", filter = "bilinear";
        std::optional<TransformData> to_uv;
        double scale = 1; // of normals
        int uv_set = 0;
        std::string left_out; // why there is no image; empty: there is one, or was to be none
    };
    struct Material {
        std::string name;
        std::array<double, 4> base_colour{ 1, 1, 1, 1 };
        std::array<double, 3> emission{ 0, 0, 0 };
        double metallic = 1, roughness = 1, alpha_cutoff = 0.5;
        std::string alpha_mode = "OPAQUE";
        bool double_sided = false;
        // Of KHR_materials_...
        double ior = 1.5, transmission = 0, clearcoat = 0, clearcoat_roughness = 0, anisotropy = 0;
        double specular = 1; // with its colour: times the reflectance that follows from ior
        std::array<double, 3> sheen{ 0, 0, 0 };
        bool has_volume = false; // else light that is let through is not bent
        double attenuation_distance = std::numeric_limits<double>::infinity();
        std::array<double, 3> attenuation_colour{ 1, 1, 1 };
        bool is_unlit = false;
        Texture transmission_texture, clearcoat_texture;
        int uv_set = 0;                    // of all textures
        std::vector<std::string> left_out; // names of what is not understood
        Texture base_colour_texture, metallic_roughness_texture, normal_texture, emission_texture;

        std::vector<const Texture *> textures() const {
            return { &base_colour_texture, &metallic_roughness_texture, &normal_texture,
                     &emission_texture,    &transmission_texture,       &clearcoat_texture };
        }
    };
    const std::vector<Material> &materials() const;

    struct Camera {
        bool is_perspective = true;
        double fov_y = 0.8, near_clip = 0.01, far_clip = 1e4; // radians
        double width = 1, height = 1;                         // of parallel rays: half the size
    };
    const Camera &camera(int i) const;
    struct Light {
        std::string type, name;
        std::array<double, 3> intensity{ 1, 1, 1 };
        double inner = 0, outer = 0.785398; // radians
    };
    const Light &light(int i) const;

    size_t mesh_count() const;
    size_t primitive_count(int mesh) const;
    /// -1 if it has none.
    int material_of(int mesh, int primitive) const;
    /// Two corners; of all vertices of a mesh.
    std::array<std::array<double, 3>, 2> bounds_of(int mesh) const;
    struct Primitive {
        std::vector<double> positions, normals, uvs, colours;
        uint32_t colour_size = 0;
        std::vector<uint32_t> indices;
    };
    /// Not points or lines.
    bool has_triangles(int mesh, int primitive) const;
    /// Whether it has these texture coordinates; a mesh may have several.
    bool has_uvs(int mesh, int primitive, int uv_set) const;
    /// Numbers of a vertex's colour: 3, 4, or 0 where there is none.
    uint32_t colour_size(int mesh, int primitive) const;
    /// Triangles, strips and fans as triangles, with these texture coordinates; null for points and lines.
    std::optional<Primitive> primitive(int mesh, int primitive, int uv_set = 0) const;
    Image image(int i) const;

private:
    struct Data;
    std::unique_ptr<Data> m;
};

/// The scene that a file shows. Without a camera, one that sees all of it is added, and without any light a bright sky.
Properties gltf_scene(const std::filesystem::path &path, const SceneFileOptions &options);
/// Its surfaces alone, moved by a transform.
std::vector<PropertiesPtr> gltf_shapes(const GltfFile &file, const std::filesystem::path &path,
                                       std::shared_ptr<const FileResolver> files,
                                       const TransformData &to_world);

} // namespace umbel
