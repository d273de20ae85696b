// core/gltf.cpp: reading glTF.
#include "core/gltf.h"
#include "core/file_text.h"
#include "core/image_io.h"
#include "core/quaternion.h"
#include "core/uri.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace umbel {

namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little); // as the format is

} // namespace

struct GltfFile::Data {
    std::filesystem::path path;
    std::shared_ptr<const FileResolver> files;
    size_t most_text = SIZE_MAX;
    std::unique_ptr<FileBytes> bytes;
    json root;
    std::string_view chunk; // of a binary file
    struct Buffer {
        std::string own;
        std::unique_ptr<FileBytes> file;
        std::string_view view;
    };
    std::vector<Buffer> buffers;
    std::vector<Node> nodes;
    std::vector<Material> materials;
    std::vector<Camera> cameras;
    std::vector<Light> lights;

    template <class... Args>
    [[noreturn]] void bad(fmt::format_string<Args...> f, Args &&...args) const {
        throw UserError(path.string() + ": " + fmt::format(f, std::forward<Args>(args)...));
    }

    // ---- JSON

    static const json &child(const json &j, const char *name) {
        static const json none;
        auto it = j.is_object() ? j.find(name) : j.end();
        return it == j.end() ? none : *it;
    }
    template <class T> T get(const json &j, const char *name, T otherwise) const {
        const json &v = child(j, name);
        if (v.is_null())
            return otherwise;
        bool fits = std::is_same_v<T, std::string> ? v.is_string()
                    : std::is_same_v<T, bool>      ? v.is_boolean()
                                                   : v.is_number();
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
            if (fits) { // 2.0 is 2
                auto d = v.template get<double>();
                fits = d == std::floor(d) && (std::is_signed_v<T> || d >= 0) &&
                       (v.is_number_integer() || std::abs(d) <= 0x1p53);
            }
        if (!fits)
            bad("{} has a value of another type than it should: {}", quote(name), quote(v.dump()));
        return v.get<T>();
    }
    /// A list inside of something; empty if it is not there.
    const json &list(const json &j, const char *name) const {
        const json &l = child(j, name);
        if (!l.is_null() && !l.is_array())
            bad("{} must be a list", quote(name));
        return l;
    }
    template <size_t N>
    std::array<double, N> numbers(const json &j, const char *name,
                                  std::array<double, N> otherwise) const {
        const json &v = child(j, name);
        if (v.is_null())
            return otherwise;
        if (!v.is_array() || v.size() != N ||
            !std::all_of(v.begin(), v.end(), [](const json &x) { return x.is_number(); }))
            bad("{} must have {} numbers", quote(name), N);
        for (size_t i = 0; i < N; ++i)
            otherwise[i] = v[i].get<double>();
        return otherwise;
    }
    /// The number of one of `count` things; -1 if none is named.
    int number(const json &j, const char *name, size_t count) const {
        if (child(j, name).is_null())
            return -1;
        auto i = get<int64_t>(j, name, 0);
        if (i < 0 || size_t(i) >= count)
            bad("{} is {}, and there are {}", quote(name), i, count);
        return int(i);
    }
    /// Element i of a list of the file.
    const json &item(const char *list, int64_t i) const {
        const json &l = child(root, list);
        if (!l.is_array() || i < 0 || size_t(i) >= l.size())
            bad("something refers to element {} of {}, which has {}", i, quote(list),
                l.is_array() ? l.size() : 0);
        return l[size_t(i)];
    }

    const json &primitive(int mesh, int i) const {
        const json &all = list(item("meshes", mesh), "primitives");
        if (i < 0 || size_t(i) >= all.size())
            bad("mesh {} has {} primitives, and number {} is asked for", mesh, all.size(), i);
        return all[size_t(i)];
    }

    // ---- the file and what it is made of

    void read() {
        bytes = std::make_unique<FileBytes>(path);
        std::string_view all = bytes->view(), text = all;
        auto u32 = [&](size_t at) {
            uint32_t v = 0;
            if (at + 4 > all.size())
                bad("offset {}: the file ends too early; get a complete copy", at);
            std::memcpy(&v, all.data() + at, 4);
            return v;
        };
        if (all.starts_with("glTF")) {
            if (u32(4) != 2)
                bad("offset 4: version {} of the format; 2 can be read", u32(4));
            size_t at = 12;
            for (int i = 0; at + 8 <= all.size() && i < 2; ++i) {
                uint32_t size = u32(at), type = u32(at + 4);
                if (size > all.size() - at - 8)
                    bad("offset {}: a chunk of {} bytes does not fit the file; get a complete copy",
                        at, size);
                (type == 0x4e4f534a ? text : chunk) = all.substr(at + 8, size);
                at += 8 + size;
            }
            if (text.data() == all.data())
                bad("offset {}: the file has no JSON; get a complete copy", all.size());
        }
        if (text.size() > most_text)
            bad("has {} bytes of JSON, more than the limit of {}; raise the limit with "
                "--max-scene or UMBEL_MAX_SCENE if this is intended",
                text.size(), most_text);
        try {
            root = json::parse(text);
        } catch (const json::parse_error &e) {
            // Without what was read last, which may be all of the file
            std::string what = e.what();
            what = what.substr(0, what.find("; last read"));
            bad("offset {}: {}; the file is damaged: export or copy it again",
                size_t(text.data() - all.data()) + e.byte, what.substr(0, 200));
        }
        std::string version = get<std::string>(child(root, "asset"), "version", "");
        if (!version.starts_with("2"))
            bad("is not a glTF file of version 2");
        for (const json &e : list(root, "extensionsRequired")) {
            static const std::set<std::string_view> known = { "KHR_lights_punctual",
                                                              "KHR_texture_transform",
                                                              "KHR_mesh_quantization" };
            std::string name = e.is_string() ? e.get<std::string>() : "";
            if (!known.contains(name) && !known_materials().contains(name))
                bad("requires {}, which Umbel does not have; export it without", quote(name));
        }
        buffers.resize(list(root, "buffers").size());
        for (size_t i = 0; i < buffers.size(); ++i)
            open_buffer(i);
        read_materials();
        read_cameras_and_lights();
        for (int64_t n : roots())
            add_node(n, {}, 0);
    }

    /// Nodes at the top of the scene that is shown: where there is none, those that no other node has.
    std::vector<int64_t> roots() const {
        std::vector<int64_t> out;
        if (!list(root, "scenes").empty()) {
            for (const json &n : list(item("scenes", get<int64_t>(root, "scene", 0)), "nodes"))
                out.push_back(n.get<int64_t>());
            return out;
        }
        std::set<int64_t> below;
        for (const json &n : list(root, "nodes"))
            for (const json &c : list(n, "children"))
                below.insert(c.get<int64_t>());
        for (int64_t i = 0; i < int64_t(list(root, "nodes").size()); ++i)
            if (!below.contains(i))
                out.push_back(i);
        return out;
    }

    std::filesystem::path resolve(const std::string &uri) const {
        std::string name = decode_uri(uri);
        if (name.find('\0') != name.npos) // where the system would take it to end
            bad("names {}, and names of files have no NUL", quote(name));
        if (name.find("://") != name.npos)
            bad("names {}, which is not a file", quote(name));
        std::filesystem::path p = path.parent_path() / name;
        if (files && !files->allows(p))
            bad("names {}, which lies outside of the allowed folders", quote(name));
        std::error_code error;
        if (std::filesystem::exists(p, error) && !std::filesystem::is_regular_file(p, error))
            bad("names {}, which is a folder, a device or a pipe; name a regular file",
                quote(name));
        if (files)
            files->note(p);
        return p;
    }

    /// The bytes that a URI stands for.
    void open_uri(const std::string &uri, Buffer &to) const {
        if (uri.starts_with("data:")) {
            size_t comma = uri.find(";base64,");
            if (comma == uri.npos)
                bad("data in the file is not base64");
            to.own = decode_base64(std::string_view(uri).substr(comma + 8), path.string());
            to.view = to.own;
        } else {
            to.file = std::make_unique<FileBytes>(resolve(uri));
            to.view = to.file->view();
        }
    }

    void open_buffer(size_t i) {
        const json &j = item("buffers", int64_t(i));
        Buffer &b = buffers[i];
        std::string uri = get<std::string>(j, "uri", "");
        if (uri.empty())
            b.view = chunk;
        else
            open_uri(uri, b);
        if (b.view.size() < get<uint64_t>(j, "byteLength", 0))
            bad("buffer {} has {} bytes, and should have {}", i, b.view.size(),
                get<uint64_t>(j, "byteLength", 0));
    }

    std::string_view view(int64_t i) const {
        const json &j = item("bufferViews", i);
        auto b = get<int64_t>(j, "buffer", -1);
        auto offset = get<uint64_t>(j, "byteOffset", 0), size = get<uint64_t>(j, "byteLength", 0);
        if (b < 0 || size_t(b) >= buffers.size() || offset > buffers[size_t(b)].view.size() ||
            size > buffers[size_t(b)].view.size() - offset)
            bad("view {} does not lie in its buffer", i);
        return buffers[size_t(b)].view.substr(offset, size);
    }

    static size_t components(const std::string &type) {
        return type == "SCALAR" ? 1
               : type == "VEC2" ? 2
               : type == "VEC3" ? 3
               : type == "VEC4" ? 4
                                : 0;
    }
    static size_t component_size(int64_t type) {
        return type == 5120 || type == 5121   ? 1
               : type == 5122 || type == 5123 ? 2
               : type == 5125 || type == 5126 ? 4
                                              : 0;
    }
    static double component(int64_t type, const char *at, bool normalized) {
        auto read = [&]<class T>(T v, double most) {
            std::memcpy(&v, at, sizeof v);
            return normalized ? std::max(double(v) / most, -1.0) : double(v);
        };
        switch (type) {
        case 5120: return read(int8_t(), 127);
        case 5121: return read(uint8_t(), 255);
        case 5122: return read(int16_t(), 32767);
        case 5123: return read(uint16_t(), 65535);
        case 5125: return read(uint32_t(), 4294967295.0);
        default: return read(float(), 1);
        }
    }

    /// Where rows of numbers lie in a view.
    struct Rows {
        const char *data;
        size_t stride;
    };
    /// Of an accessor, or of a part of it; checks that all of them are there.
    Rows rows_of(const json &part, size_t width, uint64_t count, int64_t accessor) const {
        auto v = get<int64_t>(part, "bufferView", -1);
        auto offset = get<uint64_t>(part, "byteOffset", 0);
        std::string_view data = view(v);
        size_t stride = get<uint64_t>(item("bufferViews", v), "byteStride", width);
        if (count && (stride < width || offset > data.size() || width > data.size() - offset ||
                      count - 1 > (data.size() - offset - width) / stride))
            bad("accessor {} goes beyond its view", accessor);
        return { data.data() + (count ? offset : 0), stride };
    }

    /// Numbers of an accessor, `n` a row.
    std::vector<double> accessor(int64_t i, size_t &n) const {
        const json &j = item("accessors", i);
        n = components(get<std::string>(j, "type", ""));
        auto type = get<int64_t>(j, "componentType", 0);
        auto count = get<uint64_t>(j, "count", 0);
        bool normalized = get<bool>(j, "normalized", false);
        size_t size = component_size(type);
        if (n == 0 || size == 0 || count >= (1u << 31))
            bad("accessor {} is of a kind that meshes do not have", i);
        std::vector<double> out;
        auto take = [&](const Rows &rows, uint64_t from, uint64_t to) {
            for (size_t k = 0; k < n; ++k)
                out[to * n + k] =
                    component(type, rows.data + from * rows.stride + k * size, normalized);
        };
        if (child(j, "bufferView").is_null()) { // zeros, of which a file can claim any number
            if (count > all_bytes())
                bad("accessor {} has {} rows, and all buffers have {} bytes", i, count,
                    all_bytes());
            out.resize(count * n);
        } else {
            Rows rows = rows_of(j, n * size, count, i);
            out.resize(count * n);
            for (uint64_t r = 0; r < count; ++r)
                take(rows, r, r);
        }
        const json &sparse = child(j, "sparse");
        if (sparse.is_null())
            return out;
        auto some = get<uint64_t>(sparse, "count", 0);
        const json &at = child(sparse, "indices"), &values = child(sparse, "values");
        auto index_type = get<int64_t>(at, "componentType", 5125);
        size_t index_size = component_size(index_type);
        if (some > count)
            bad("accessor {} replaces more than it has", i);
        if (index_size == 0)
            bad("accessor {} has indices of no type", i);
        Rows numbers = rows_of(at, index_size, some, i), rows = rows_of(values, n * size, some, i);
        for (uint64_t r = 0; r < some; ++r) {
            double v = component(index_type, numbers.data + r * numbers.stride, false);
            if (!(v >= 0 && v < double(count)))
                bad("accessor {} replaces row {} of {}", i, v, count);
            take(rows, r, uint64_t(v));
        }
        return out;
    }
    size_t all_bytes() const {
        size_t sum = 0;
        for (const Buffer &b : buffers)
            sum += b.view.size();
        return sum;
    }

    // ---- what it says

    /// Of an image that is neither of the format's own kinds; those are known by what is in them.
    std::string foreign_format(const json &image) const {
        std::string type = get<std::string>(image, "mimeType", "");
        const json &uri = child(image, "uri");
        std::string_view name = uri.is_string()
                                    ? std::string_view(uri.get_ref<const std::string &>())
                                    : std::string_view();
        if (name.starts_with("data:")) // may be long
            type = name.substr(5, std::min(name.find_first_of(";,"), size_t(69)) - 5);
        if (type == "image/webp" || type == "image/ktx2" || type == "image/vnd-ms.dds" ||
            type == "image/avif")
            return type;
        for (const char *extension : { ".webp", ".ktx2", ".dds", ".avif" })
            if (name.ends_with(extension))
                return extension + 1;
        return "";
    }

    Texture texture(const json &j) const {
        Texture t;
        if (j.is_null())
            return t;
        const json &info = item("textures", get<int64_t>(j, "index", -1));
        t.image = number(info, "source", list(root, "images").size());
        if (t.image < 0) // only extensions say what it is
            t.left_out = child(info, "extensions").empty()
                             ? "it has no image"
                             : "it is of " + child(info, "extensions").items().begin().key();
        else if (std::string format = foreign_format(item("images", t.image)); !format.empty()) {
            t.image = -1;
            t.left_out = "it is of the format " + format + "; export PNG or JPEG";
        }
        t.uv_set = int(std::clamp<int64_t>(get<int64_t>(j, "texCoord", 0), 0, 1000));
        t.scale = get<double>(j, "scale", 1);
        if (auto s = get<int64_t>(info, "sampler", -1); s >= 0) {
            const json &sampler = item("samplers", s);
            auto wrap = [&](const char *axis) {
                auto code = get<int64_t>(sampler, axis, 10497);
                return code == 33071 ? "clamp" : code == 33648 ? "mirror" : "repeat";
            };
            t.wrap_u = wrap("wrapS");
            t.wrap_v = wrap("wrapT");
            if (get<int64_t>(sampler, "magFilter", 9729) == 9728)
                t.filter = "nearest";
        }
        const json &move = child(child(j, "extensions"), "KHR_texture_transform");
        if (!move.is_null()) {
            auto offset = numbers<2>(move, "offset", { 0, 0 }),
                 scale = numbers<2>(move, "scale", { 1, 1 });
            t.uv_set = int(std::clamp<int64_t>(get<int64_t>(move, "texCoord", t.uv_set), 0, 1000));
            double angle = get<double>(move, "rotation", 0); // v points down, and so it turns
            t.to_uv = TransformData::translate({ offset[0], offset[1], 0 }) *
                      TransformData::rotate({ 0, 0, 1 }, -angle * 180 / 3.14159265358979323846) *
                      TransformData::scale({ scale[0], scale[1], 1 });
        }
        return t;
    }

    /// Extensions of materials that are read, if not to the last word.
    static const std::set<std::string_view> &known_materials() {
        static const std::set<std::string_view> names = { "KHR_materials_anisotropy",
                                                          "KHR_materials_clearcoat",
                                                          "KHR_materials_ior",
                                                          "KHR_materials_sheen",
                                                          "KHR_materials_specular",
                                                          "KHR_materials_volume",
                                                          "KHR_materials_unlit",
                                                          "KHR_materials_transmission",
                                                          "KHR_materials_emissive_strength" };
        return names;
    }

    void read_extensions(const json &all, Material &m) const {
        for (const auto &[name, e] : all.items())
            if (!known_materials().contains(name))
                m.left_out.push_back(name);
        auto extension = [&](const char *name) -> const json & {
            return child(all, (std::string("KHR_materials_") + name).c_str());
        };
        auto leave_out = [&](const char *extension, const json &e,
                             std::initializer_list<const char *> names) {
            for (const char *name : names)
                if (!child(e, name).is_null())
                    m.left_out.push_back(fmt::format("{} of KHR_materials_{}", name, extension));
        };
        auto part = [&](const json &e, const char *name, double otherwise) {
            return std::clamp(get<double>(e, name, otherwise), 0.0, 1.0);
        };
        auto is_grey = [](const std::array<double, 3> &c) { return c[0] == c[1] && c[1] == c[2]; };

        double strength = get<double>(extension("emissive_strength"), "emissiveStrength", 1);
        for (double &v : m.emission)
            v *= strength;
        m.is_unlit = !extension("unlit").is_null();

        m.ior = get<double>(extension("ior"), "ior", m.ior);
        if (m.ior == 0) { // reflects everything, for the sake of older models
            m.ior = 1.5;
            m.left_out.push_back("ior 0 of KHR_materials_ior");
        } else if (!(m.ior >= 1 && m.ior < 1e3))
            bad("material {}: \"ior\" is {}; it must be at least 1", quote(m.name), m.ior);
        const json &specular = extension("specular");
        auto colour = numbers<3>(specular, "specularColorFactor", { 1, 1, 1 });
        m.specular = part(specular, "specularFactor", 1) *
                     (0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]);
        if (!is_grey(colour))
            m.left_out.push_back("the hue of specularColorFactor of KHR_materials_specular");
        leave_out("specular", specular, { "specularTexture", "specularColorTexture" });

        const json &coat = extension("clearcoat");
        m.clearcoat = part(coat, "clearcoatFactor", 0);
        m.clearcoat_roughness = part(coat, "clearcoatRoughnessFactor", 0);
        m.clearcoat_texture = texture(child(coat, "clearcoatTexture"));
        leave_out("clearcoat", coat, { "clearcoatRoughnessTexture", "clearcoatNormalTexture" });
        const json &sheen = extension("sheen");
        m.sheen = numbers<3>(sheen, "sheenColorFactor", { 0, 0, 0 });
        if (!is_grey(m.sheen))
            m.left_out.push_back("the hue of sheenColorFactor of KHR_materials_sheen");
        leave_out("sheen", sheen, { "sheenColorTexture", "sheenRoughnessTexture" });
        const json &stretched = extension("anisotropy");
        m.anisotropy = part(stretched, "anisotropyStrength", 0);
        leave_out("anisotropy", stretched, { "anisotropyTexture", "anisotropyRotation" });

        const json &clear = extension("transmission"), &volume = extension("volume");
        m.transmission = part(clear, "transmissionFactor", 0);
        m.transmission_texture = texture(child(clear, "transmissionTexture"));
        m.has_volume = get<double>(volume, "thicknessFactor", 0) > 0;
        m.attenuation_distance = get<double>(volume, "attenuationDistance", m.attenuation_distance);
        if (!(m.attenuation_distance > 0))
            bad("material {}: \"attenuationDistance\" is {}; it must be above 0", quote(m.name),
                m.attenuation_distance);
        m.attenuation_colour = numbers<3>(volume, "attenuationColor", { 1, 1, 1 });
    }

    /// A mesh has one set of texture coordinates here: that of the first texture.
    void leave_out_textures(Material &m) const {
        std::vector<std::pair<const char *, Texture *>> all = {
            { "baseColorTexture", &m.base_colour_texture },
            { "metallicRoughnessTexture", &m.metallic_roughness_texture },
            { "normalTexture", &m.normal_texture },
            { "emissiveTexture", &m.emission_texture },
            { "transmissionTexture", &m.transmission_texture },
            { "clearcoatTexture", &m.clearcoat_texture }
        };
        bool is_first = true;
        for (auto [name, t] : all) {
            if (t->image >= 0 && std::exchange(is_first, false))
                m.uv_set = t->uv_set;
            if (t->image >= 0 && t->uv_set != m.uv_set) {
                t->image = -1;
                t->left_out = fmt::format("it is for TEXCOORD_{}, others for TEXCOORD_{}",
                                          t->uv_set, m.uv_set);
            }
            if (!t->left_out.empty())
                m.left_out.push_back(fmt::format("{}: {}", name, t->left_out));
        }
        if (!m.emission_texture.left_out.empty()) // not everywhere, then
            m.emission = { 0, 0, 0 };
        if (!m.transmission_texture.left_out.empty())
            m.transmission = 0;
        if (!m.clearcoat_texture.left_out.empty())
            m.clearcoat = 0;
    }

    void read_materials() {
        for (const json &j : list(root, "materials")) {
            Material m;
            m.name = get<std::string>(j, "name", "");
            const json &pbr = child(j, "pbrMetallicRoughness");
            m.base_colour = numbers<4>(pbr, "baseColorFactor", m.base_colour);
            m.metallic = get<double>(pbr, "metallicFactor", 1);
            m.roughness = get<double>(pbr, "roughnessFactor", 1);
            m.base_colour_texture = texture(child(pbr, "baseColorTexture"));
            m.metallic_roughness_texture = texture(child(pbr, "metallicRoughnessTexture"));
            m.normal_texture = texture(child(j, "normalTexture"));
            m.emission_texture = texture(child(j, "emissiveTexture"));
            m.emission = numbers<3>(j, "emissiveFactor", m.emission);
            read_extensions(child(j, "extensions"), m);
            m.alpha_mode = get<std::string>(j, "alphaMode", "OPAQUE");
            m.alpha_cutoff = get<double>(j, "alphaCutoff", 0.5);
            m.double_sided = get<bool>(j, "doubleSided", false);
            leave_out_textures(m);
            materials.push_back(std::move(m));
        }
    }

    void read_cameras_and_lights() {
        for (const json &j : list(root, "cameras")) {
            Camera c;
            c.is_perspective = get<std::string>(j, "type", "") != "orthographic";
            const json &p = child(j, c.is_perspective ? "perspective" : "orthographic");
            c.fov_y = get<double>(p, "yfov", c.fov_y);
            c.near_clip = get<double>(p, "znear", c.near_clip);
            c.far_clip = get<double>(p, "zfar", c.far_clip);
            c.width = get<double>(p, "xmag", 1);
            c.height = get<double>(p, "ymag", 1);
            if (!(c.fov_y > 0 && c.fov_y < 3.14159) || !(c.width > 0) || !(c.height > 0))
                bad("camera {} has an angle or a size that cannot be", cameras.size());
            cameras.push_back(c);
        }
        const json &punctual = child(child(root, "extensions"), "KHR_lights_punctual");
        for (const json &j : list(punctual, "lights")) {
            Light l;
            l.type = get<std::string>(j, "type", "");
            l.name = get<std::string>(j, "name", "");
            double intensity = get<double>(j, "intensity", 1);
            l.intensity = numbers<3>(j, "color", { 1, 1, 1 });
            for (double &v : l.intensity)
                v *= intensity;
            l.inner = get<double>(child(j, "spot"), "innerConeAngle", l.inner);
            l.outer = get<double>(child(j, "spot"), "outerConeAngle", l.outer);
            lights.push_back(std::move(l));
        }
    }

    void add_node(int64_t i, const TransformData &parent, int depth) {
        const json &j = item("nodes", i);
        // They should form a tree; if each has the next one twice, a few stand for countless ones
        if (depth > 200 || nodes.size() > 1000 + 16 * list(root, "nodes").size())
            bad("nodes contain themselves, are nested more than 200 deep, or are in very many "
                "places");
        Node n;
        n.name = get<std::string>(j, "name", "");
        n.mesh = number(j, "mesh", list(root, "meshes").size());
        n.camera = number(j, "camera", cameras.size());
        n.light =
            number(child(child(j, "extensions"), "KHR_lights_punctual"), "light", lights.size());
        TransformData local;
        if (!child(j, "matrix").is_null()) {
            auto m = numbers<16>(j, "matrix", {}); // column by column
            for (int r = 0; r < 4; ++r)
                for (int c = 0; c < 4; ++c)
                    local(r, c) = m[size_t(4 * c + r)];
        } else {
            auto t = numbers<3>(j, "translation", { 0, 0, 0 }),
                 s = numbers<3>(j, "scale", { 1, 1, 1 });
            auto q = numbers<4>(j, "rotation", { 0, 0, 0, 1 });
            TransformData turn;
            double x = q[0], y = q[1], z = q[2], w = q[3];
            const double rows[9] = { 1 - 2 * (y * y + z * z), 2 * (x * y - z * w),
                                     2 * (x * z + y * w),     2 * (x * y + z * w),
                                     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                                     2 * (x * z - y * w),     2 * (y * z + x * w),
                                     1 - 2 * (x * x + y * y) };
            for (int k = 0; k < 9; ++k)
                turn(k / 3, k % 3) = rows[k];
            local = TransformData::translate(t) * turn * TransformData::scale(s);
        }
        n.to_world = parent * local;
        TransformData world = n.to_world;
        nodes.push_back(std::move(n));
        for (const json &c : list(j, "children"))
            add_node(c.get<int64_t>(), world, depth + 1);
    }
};

GltfFile::GltfFile(const std::filesystem::path &path, std::shared_ptr<const FileResolver> files,
                   size_t most_text)
    : m(std::make_unique<Data>()) {
    m->path = path;
    m->files = std::move(files);
    m->most_text = most_text;
    try {
        m->read();
    } catch (const json::exception &e) {
        m->bad("{}", e.what());
    }
}
GltfFile::~GltfFile() = default;

std::shared_ptr<const GltfFile> GltfFile::open(const std::filesystem::path &path,
                                               std::shared_ptr<const FileResolver> files,
                                               size_t most_text) {
    struct Entry {
        std::weak_ptr<const GltfFile> file;
        std::filesystem::file_time_type time;
    };
    static std::mutex mutex;
    static std::map<std::string, Entry> entries;
    std::lock_guard lock(mutex);
    Entry &e = entries[std::filesystem::absolute(path).string()];
    std::error_code error;
    auto time = std::filesystem::last_write_time(path, error);
    if (auto known = e.file.lock(); known && e.time == time)
        return known;
    auto file = std::make_shared<GltfFile>(path, std::move(files), most_text);
    e = { file, time };
    return file;
}

const std::vector<GltfFile::Node> &GltfFile::nodes() const { return m->nodes; }
const std::vector<GltfFile::Material> &GltfFile::materials() const { return m->materials; }
const GltfFile::Camera &GltfFile::camera(int i) const { return m->cameras[size_t(i)]; }
const GltfFile::Light &GltfFile::light(int i) const { return m->lights[size_t(i)]; }
size_t GltfFile::mesh_count() const { return m->list(m->root, "meshes").size(); }
size_t GltfFile::primitive_count(int mesh) const {
    return m->list(m->item("meshes", mesh), "primitives").size();
}

int GltfFile::material_of(int mesh, int primitive) const {
    const json &all = m->list(m->item("meshes", mesh), "primitives");
    return m->number(all.at(size_t(primitive)), "material", m->materials.size());
}

std::array<std::array<double, 3>, 2> GltfFile::bounds_of(int mesh) const {
    std::array<std::array<double, 3>, 2> out{ { { 1e300, 1e300, 1e300 },
                                                { -1e300, -1e300, -1e300 } } };
    for (const json &p : m->list(m->item("meshes", mesh), "primitives")) {
        auto i = m->get<int64_t>(Data::child(p, "attributes"), "POSITION", -1);
        if (i < 0)
            continue;
        auto low = m->numbers<3>(m->item("accessors", i), "min", { 0, 0, 0 }),
             high = m->numbers<3>(m->item("accessors", i), "max", { 0, 0, 0 });
        for (size_t k = 0; k < 3; ++k) {
            out[0][k] = std::min(out[0][k], low[k]);
            out[1][k] = std::max(out[1][k], high[k]);
        }
    }
    return out;
}

bool GltfFile::has_triangles(int mesh, int primitive) const {
    return m->get<int64_t>(m->primitive(mesh, primitive), "mode", 4) >= 4;
}

bool GltfFile::has_uvs(int mesh, int primitive, int uv_set) const {
    const json &attributes = Data::child(m->primitive(mesh, primitive), "attributes");
    return !Data::child(attributes, fmt::format("TEXCOORD_{}", uv_set).c_str()).is_null();
}

uint32_t GltfFile::colour_size(int mesh, int primitive) const {
    const json &attributes = Data::child(m->primitive(mesh, primitive), "attributes");
    auto i = m->get<int64_t>(attributes, "COLOR_0", -1);
    return i < 0 ? 0 : m->get<std::string>(m->item("accessors", i), "type", "") == "VEC4" ? 4 : 3;
}

std::optional<GltfFile::Primitive> GltfFile::primitive(int mesh, int primitive, int uv_set) const {
    const json &j = m->primitive(mesh, primitive), &attributes = Data::child(j, "attributes");
    auto mode = m->get<int64_t>(j, "mode", 4);
    if (mode < 4)
        return std::nullopt;
    Primitive out;
    size_t vertices = 0;
    auto read = [&](const char *name, size_t least,
                    size_t most) -> std::pair<std::vector<double>, size_t> {
        auto i = m->get<int64_t>(attributes, name, -1);
        size_t n = 0;
        if (i < 0)
            return { {}, 0 };
        std::vector<double> v = m->accessor(i, n);
        if (n < least || n > most || (vertices && v.size() / n != vertices))
            m->bad("mesh {}, primitive {}: {} does not fit the mesh", mesh, primitive, name);
        for (size_t k = 0; k < v.size(); ++k)
            if (!std::isfinite(v[k]))
                m->bad("mesh {}, primitive {}: {} of vertex {} is not a finite number; export the "
                       "file again",
                       mesh, primitive, name, k / n);
        return { std::move(v), n };
    };
    out.positions = read("POSITION", 3, 3).first;
    vertices = out.positions.size() / 3;
    if (vertices == 0)
        m->bad("mesh {}, primitive {} has no vertices", mesh, primitive);
    out.normals = read("NORMAL", 3, 3).first;
    out.uvs = read(fmt::format("TEXCOORD_{}", uv_set).c_str(), 2, 2).first;
    size_t size = 0;
    std::tie(out.colours, size) = read("COLOR_0", 3, 4);
    out.colour_size = uint32_t(size);

    std::vector<uint32_t> list;
    if (auto i = m->get<int64_t>(j, "indices", -1); i >= 0) {
        size_t n = 0;
        for (double v : m->accessor(i, n)) {
            if (!(v >= 0 && v < double(vertices)))
                m->bad("mesh {}, primitive {}: a triangle refers to vertex {} of {}; "
                       "export the file again",
                       mesh, primitive, v, vertices);
            list.push_back(uint32_t(v));
        }
    } else
        for (uint32_t i = 0; i < vertices; ++i)
            list.push_back(i);
    if (mode == 4) {
        list.resize(list.size() / 3 * 3);
        out.indices = std::move(list);
    } else // a strip turns every other triangle around; a fan has its first vertex in all
        for (size_t i = 2; i < list.size(); ++i) {
            if (mode == 6)
                out.indices.insert(out.indices.end(), { list[0], list[i - 1], list[i] });
            else if (i % 2)
                out.indices.insert(out.indices.end(), { list[i - 1], list[i - 2], list[i] });
            else
                out.indices.insert(out.indices.end(), { list[i - 2], list[i - 1], list[i] });
        }
    return out;
}

Image GltfFile::image(int i) const {
    const json &j = m->item("images", i);
    std::string uri = m->get<std::string>(j, "uri", ""),
                where = fmt::format("{}: image {}", m->path.string(), i);
    Data::Buffer own;
    std::string_view bytes;
    if (uri.empty())
        bytes = m->view(m->get<int64_t>(j, "bufferView", -1));
    else {
        m->open_uri(uri, own);
        bytes = own.view;
    }
    return read_image(bytes.data(), bytes.size(), where);
}

} // namespace umbel
