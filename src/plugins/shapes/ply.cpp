// ply: triangle meshes in the Stanford format, as text or binary of either byte order.
//
// Reads x y z, nx ny nz and u v (also s t, texture_u texture_v) of vertices, and faces as lists; polygons become fans of
// triangles. All other properties of vertices and faces become attributes. One or three of a common name that end in
// _0 _1 _2, _x _y _z or _r _g _b are one: heat_0 of vertices is vertex_heat, r g b of faces is face_color, and tint_r tint_g
// tint_b is vertex_tint_color. The rest are one each, of their own name: quality is vertex_quality. Lists of other names, and
// other elements, are passed over.
//
// Colours that are integers are parts of the largest of their type, 255 for bytes, and encoded as sRGB, as in Mitsuba 3.
//
// Records of one size, as most binary files have them, are read by all cores where they are.
#include "core/colour.h"
#include "core/file_text.h"
#include "core/host_array.h"
#include "core/large_pages.h"
#include "core/reads_files.h"
#include "jit/parallel.h"
#include "render/mesh_creases.h"
#include "render/ply_file.h"
#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>

namespace umbel {

class Ply final : public Mesh, public ReadsFiles, private PlyFile {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/mesh.ply'/>");
        Mesh::declare(p);
        p.file("filename", m_file).doc("The file to read");
        declare_normals(p);
        m_creases.declare(p);
        p.boolean("flip_tex_coords", m_flip_v, false).doc("Turns the texture's v axis over");
        p.boolean("srgb", m_srgb, false)
            .fixed()
            .doc(
                "Colours of vertices and faces are encoded as sRGB; integers are if the scene says "
                "nothing");
        if (p.loading())
            m_integers_are_srgb = m_srgb || !p.properties()->has("srgb");
    }

    void read_files() override {
        positions.clear(), normals.clear(), uvs.clear(), indices.clear();
        m_extras.clear();
        FileBytes file(m_file);
        open(m_file, file.view());
        for (const Element &e : m_elements)
            e.name == "vertex" ? read_vertices(e) : e.name == "face" ? read_faces(e) : skip(e);
        if (indices.empty())
            fail("{}: the file holds no faces", m_file.string());
        for (Extra &e : m_extras)
            if (e.size == 3 && e.name.ends_with("_color"))
                decode(e);
        if (m_face_normals || m_creases.given())
            normals.clear();
        m_normals_came_along = !normals.empty();
        to_world_space();
        if (m_face_normals || m_normals_came_along)
            return;
        std::vector<Creases::PerVertex> attributes;
        for (Extra &e : m_extras)
            if (e.name.starts_with("vertex_"))
                attributes.push_back({ &e.values, e.size });
        if (m_creases.given())
            m_creases.smooth(*this, attributes);
        else
            smooth_normals();
    }

    void configure() override {
        take_files();
        finish_mesh(m_normals_came_along);
        for (Extra &e : m_extras)
            set_attribute(e.name, e.size, float_array(e.values));
        m_elements.clear();
        m_extras.clear();
    }

private:
    struct Extra { // an attribute
        std::string name;
        uint32_t size;
        std::vector<double> values;
        Type type = Type::F32;
    };
    // Colours, in place of numbers as they stand in the file.
    void decode(Extra &e) const {
        double largest = with_type(e.type, []<class T>(T) {
            return std::is_integral_v<T> ? double(std::numeric_limits<T>::max()) : 1.0;
        });
        bool is_encoded = largest > 1 ? m_integers_are_srgb : m_srgb;
        for (double &v : e.values)
            v = is_encoded ? srgb_decode(v / largest) : v / largest;
    }
    void read_vertices(const Element &e) {
        // Each takes a byte at least: a damaged count must not allocate.
        if (e.count > uint64_t(m_end - m_at) || e.count >= (1u << 31))
            bad(fmt::format("{} vertices do not fit the file", e.count));
        std::vector<Target> targets, extras = find_extras(e, "vertex_");
        auto find = [&](std::string_view n) -> Target {
            const std::array<const char *, 3> xyz{ "x", "y", "z" }, normal{ "nx", "ny", "nz" };
            for (size_t k = 0; k < 3; ++k) {
                if (n == xyz[k])
                    return { &positions.get(), 3, k, true };
                if (n == normal[k])
                    return { &normals.get(), 3, k };
            }
            if (n == "u" || n == "s" || n == "texture_u")
                return { &uvs.get(), 2, 0 };
            if (n == "v" || n == "t" || n == "texture_v")
                return { &uvs.get(), 2, 1 };
            return {};
        };
        for (const Target &t : extras)
            if (t.list)
                resize_large(*t.list, t.stride * e.count);
        bool has[3] = {};
        for (const Property &p : e.properties) {
            Target known = p.is_list ? Target() : find(p.name);
            targets.push_back(known.list ? known : extras[targets.size()]);
            if (known.list)
                resize_large(*targets.back().list, targets.back().stride * e.count);
            for (size_t k = 0; k < 3; ++k)
                has[k] |= p.name == std::array<const char *, 3>{ "x", "y", "z" }[k];
        }
        if (!has[0] || !has[1] || !has[2])
            bad("vertices have no x, y and z");
        read_element(e, targets);
        if (m_flip_v)
            for (size_t i = 1; i < uvs.size(); i += 2)
                uvs[i] = 1 - uvs[i];
    }

    static bool is_corners(const Property &p) {
        return p.is_list && (p.name == "vertex_indices" || p.name == "vertex_index");
    }

    // Binary faces of as many corners each, by all cores; false if these are others.
    bool read_equal_faces(const Element &e, const std::vector<Target> &extras) {
        size_t lists = 0, before = 0, after = 0;
        const Property *corners = nullptr;
        std::vector<size_t> offsets; // relative to the list, of those after it to its end
        for (const Property &p : e.properties) {
            lists += p.is_list;
            offsets.push_back(corners ? after : before);
            if (is_corners(p))
                corners = &p;
            else if (!p.is_list)
                (corners ? after : before) += size_of(p.type);
        }
        if (m_ascii || lists != 1 || !corners || e.count == 0)
            return false;
        size_t count_bytes = size_of(corners->count_type), index_bytes = size_of(corners->type);
        if (size_t(m_end - m_at) < before + count_bytes)
            return false;
        auto count_at = [&](const char *at) {
            return with_type(corners->count_type,
                             [&]<class T>(T) { return double(load<T>(at + before)); });
        };
        double count = count_at(m_at);
        if (!(count >= 3 && count <= 255))
            return false;
        size_t n = size_t(count), head = before + count_bytes,
               bytes = head + n * index_bytes + after;
        if (e.count > uint64_t(m_end - m_at) / bytes || e.count * (n - 2) >= (1u << 30))
            return false;
        for (const Target &x : extras)
            if (x)
                resize_large(*x.list, x.stride * e.count * (n - 2));
        std::vector<uint32_t> &out = indices.get();
        resize_large(out, 3 * (n - 2) * e.count);
        std::atomic<bool> differs = false;
        with_type(corners->type, [&]<class T>(T) {
            auto vertices = double(vertex_count());
            jit::parallel_for(tbb::blocked_range<size_t>(0, e.count, 4096), [&](const auto &range) {
                for (size_t i = range.begin(); i < range.end(); ++i) {
                    const char *at = m_at + bytes * i, *list = at + head;
                    if (count_at(at) != count) {
                        differs = true;
                        return;
                    }
                    uint32_t *to = &out[3 * (n - 2) * i];
                    T first = load<T>(list), last = load<T>(list + sizeof(T));
                    bool is_good = double(first) >= 0 && double(first) < vertices &&
                                   double(last) >= 0 && double(last) < vertices;
                    for (size_t k = 2; k < n; ++k, to += 3) {
                        T next = load<T>(list + k * sizeof(T));
                        is_good &= double(next) >= 0 && double(next) < vertices;
                        if (!is_good) { // told in the order of the file
                            differs = true;
                            return;
                        }
                        to[0] = uint32_t(first), to[1] = uint32_t(last), to[2] = uint32_t(next);
                        last = next;
                    }
                    const char *end = list + n * sizeof(T);
                    bool behind = false;
                    for (size_t k = 0; k < extras.size(); ++k) {
                        const Property &p = e.properties[k];
                        if (const Target &x = extras[k])
                            for (size_t t = (n - 2) * i; t < (n - 2) * (i + 1); ++t)
                                (*x.list)[x.stride * t + x.offset] =
                                    with_type(p.type, [&]<class U>(U) {
                                        return double(load<U>((behind ? end : at) + offsets[k]));
                                    });
                        behind |= &p == corners;
                    }
                }
            });
        });
        if (!differs)
            m_at += bytes * e.count;
        else
            out.clear();
        return !differs;
    }

    void read_faces(const Element &e) {
        if (e.properties.empty())
            bad("faces have no list of vertices");
        std::vector<Target> extras = find_extras(e, "face_");
        if (read_equal_faces(e, extras))
            return;
        for (const Target &x : extras)
            if (x)
                x.list->clear();
        std::vector<uint32_t> &out = indices.get();
        size_t vertices = vertex_count();
        std::vector<double> row; // of attributes of a face
        for (uint64_t i = 0; i < e.count; ++i) {
            size_t before = out.size() / 3;
            row.clear();
            for (size_t at = 0; at < e.properties.size(); ++at) {
                const Property &p = e.properties[at];
                if (extras[at]) {
                    row.push_back(number(p.type));
                    continue;
                }
                if (!is_corners(p)) {
                    skip(p);
                    continue;
                }
                uint32_t first = 0, last = 0;
                uint64_t n = list_length(p);
                for (uint64_t k = 0; k < n; ++k) {
                    const char *place = m_at;
                    double index = number(p.type);
                    if (!(index >= 0 && index < double(vertices)))
                        bad(fmt::format("face {} refers to vertex {} of {}; export the file again",
                                        i, index, vertices),
                            place);
                    auto v = uint32_t(index);
                    if (k == 0)
                        first = v;
                    else if (k >= 2)
                        out.insert(out.end(), { first, last, v });
                    last = v;
                }
            }
            // All triangles of a polygon have what it has
            for (size_t t = before; t < out.size() / 3; ++t)
                for (size_t at = 0, k = 0; at < extras.size(); ++at)
                    if (const Target &x = extras[at]) {
                        x.list->resize(x.stride * (t + 1));
                        (*x.list)[x.stride * t + x.offset] = row[k++];
                    }
        }
    }

    static bool is_known(const Property &p) {
        static const char *const names[] = { "x", "y", "z", "nx", "ny",        "nz",
                                             "u", "v", "s", "t",  "texture_u", "texture_v" };
        return std::find(std::begin(names), std::end(names), p.name) != std::end(names);
    }

    // What properties of other names are: attributes, unless they are lists.
    std::vector<Target> find_extras(const Element &e, const std::string &prefix) {
        std::vector<Target> targets(e.properties.size());
        static const char *const endings[] = { "r", "g", "b", "x", "y", "z", "0", "1", "2" };
        size_t at = 0;
        while (at < e.properties.size()) {
            // A run of properties of one name with one set of endings, from its beginning
            auto [name, ending] = split(e.properties[at]);
            size_t set = 9, count = 0;
            for (size_t k = 0; k < 9; k += 3)
                if (ending == endings[k] && !(name.empty() && k == 3)) // x y z is the position
                    set = k;
            if (set < 9 && !(name.empty() && set == 6))
                for (; count < 3 && at + count < e.properties.size(); ++count)
                    if (split(e.properties[at + count]) !=
                        std::pair(name, std::string(endings[set + count])))
                        break;
            std::string full = prefix + name;
            if (count != 1 && count != 3) { // one of its own
                const Property &p = e.properties[at];
                count = 1;
                if (p.is_list || (prefix == "vertex_" && is_known(p))) {
                    ++at;
                    continue;
                }
                full = prefix + p.name;
            } else if (set == 0)
                full += name.empty() ? "color" : "_color";
            bool taken = false;
            for (const Extra &x : m_extras)
                taken |= x.name == full;
            if (!taken) {
                m_extras.push_back({ full, uint32_t(count), {}, e.properties[at].type });
                for (size_t k = 0; k < count; ++k)
                    targets[at + k] = { &m_extras.back().values, count, k };
            }
            at += count;
        }
        return targets;
    }
    // "heat_0" is heat and 0, "r" nothing and r; red, green and blue are r, g and b.
    static std::pair<std::string, std::string> split(const Property &p) {
        if (p.is_list)
            return { p.name, "" };
        for (auto [word, letter] : { std::pair("red", "r"), { "green", "g" }, { "blue", "b" } })
            if (p.name == word)
                return { "", letter };
        size_t bar = p.name.rfind('_');
        if (bar == std::string::npos)
            return p.name.size() == 1 ? std::pair(std::string(), p.name)
                                      : std::pair(p.name, std::string());
        return { p.name.substr(0, bar), p.name.substr(bar + 1) };
    }

    std::filesystem::path m_file;
    Creases m_creases;
    bool m_flip_v = false, m_srgb = false, m_integers_are_srgb = true;
    bool m_normals_came_along = false;
    std::deque<Extra> m_extras; // lists keep their places
};

UMBEL_PLUGIN(Shape, Ply, "ply")
} // namespace umbel
