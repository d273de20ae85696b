// core/gltf_material.h: materials of glTF files as Properties.
#pragma once
#include "core/gltf.h"
#include <functional>
#include <map>
#include <set>

namespace umbel {

/// The one place where a file's materials become Umbel's. Each image is decoded once, and textures that are the same, of whichever
/// materials, are one object.
class GltfMaterials {
public:
    using Remark = std::function<void(std::string)>;

    /// `remark` is told what is left out.
    GltfMaterials(const GltfFile &file, std::filesystem::path path,
                  std::shared_ptr<const FileResolver> files, Remark remark);

    /// An object that says in messages that it comes from the file.
    Properties make(const char *kind, const char *type) const;
    /// Decodes the images of these materials, by all cores.
    void decode(const std::set<int> &materials);
    /// -1: of what has none. On a mesh whose vertices have colours of so many numbers, or 0, which multiply the material's.
    PropertiesPtr bsdf(int material, uint32_t colour_size);
    /// What light passes through below the surface; null: nothing.
    PropertiesPtr medium(int material);
    /// The light that the surface gives off, if any.
    void add_emission(int material, Properties &shape);

private:
    using Picture = std::function<Image(const Image &)>;

    const GltfFile::Material &material(int i) const;
    Properties make_bsdf(const GltfFile::Material &m, uint32_t colour_size);
    Properties make_thin_bsdf(const GltfFile::Material &m, uint32_t colour_size);
    Properties principled(const char *type, const GltfFile::Material &m, uint32_t colour_size);
    void multiply(Properties &p, const char *name, const char *attribute) const;
    void set_metallic(Properties &p, const char *name, const GltfFile::Material &m);
    Properties around(const char *type, Properties inner) const;
    Properties blend(Properties first, Properties second) const;
    void remark_on(const GltfFile::Material &m, uint32_t colour_size);
    const Image &image(const GltfFile::Texture &t);
    PropertiesPtr texture(const GltfFile::Texture &t, bool raw, const std::string &what,
                          const Picture &picture);
    PropertiesPtr colour(const GltfFile::Texture &t, const std::array<double, 3> &factor);
    void set_colour(Properties &p, const char *name, const GltfFile::Texture &t,
                    const std::array<double, 3> &factor);
    void set_channel(Properties &p, const char *name, const GltfFile::Texture &t, size_t c,
                     double factor);
    void set_normals(Properties &p, const GltfFile::Texture &t);
    void set_opacity(Properties &p, const GltfFile::Material &m);

    struct Decoded {
        Image image;
        std::exception_ptr error;
    };
    void decode(int image, Decoded &to) const;

    const GltfFile &m_file;
    std::filesystem::path m_path;
    std::shared_ptr<const FileResolver> m_files;
    Remark m_remark;
    std::set<std::string> m_told;
    std::map<std::pair<int, uint32_t>, PropertiesPtr> m_bsdfs;
    std::map<int, PropertiesPtr> m_media;
    std::map<int, Decoded> m_images;
    std::map<std::string, PropertiesPtr> m_textures; // by all that makes them differ
};

} // namespace umbel
