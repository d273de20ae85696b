// obj: triangle meshes in Wavefront's text format.
//
// Reads v, vt, vn and f; polygons become fans of triangles, and negative indices count from the end. Groups, lines and
// materials are passed over. Vertices with several normals or texture coordinates are duplicated.
#include "core/file_text.h"
#include "render/shape.h"
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>

namespace umbel {

class Obj final : public Mesh {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/mesh.obj'/>");
        Mesh::declare(p);
        p.file("filename", m_file).doc("The file to read");
        declare_normals(p);
        p.boolean("flip_tex_coords", m_flip_v, true)
            .doc("Files count v from the bottom of the image, textures from its top");
    }

    void configure() override {
        std::string text = read_text_file(m_file);
        m_at = text.data();
        m_end = m_at + text.size();
        for (m_line = 1; m_at < m_end; ++m_line)
            parse_line();
        if (indices.empty())
            fail("{}: the file holds no faces", m_file.string());
        if (m_face_normals || !m_any_normal)
            normals.clear();
        if (!m_any_uv)
            uvs.clear();
        to_world_space();
        if (!m_face_normals && !m_any_normal)
            smooth_normals();
        finish_mesh(m_any_normal && !m_face_normals);
        m_v = m_vt = m_vn = {};
        m_vertices = {};
    }

private:
    using Corner = std::array<int64_t, 3>; // position, uv, normal; from 1 on, 0: none
    struct Hash {
        size_t operator()(const Corner &c) const {
            uint64_t h = uint64_t(c[0]) * 0x9e3779b97f4a7c15u;
            h = (h ^ (h >> 29) ^ uint64_t(c[1])) * 0xbf58476d1ce4e5b9u;
            return (h ^ (h >> 32) ^ uint64_t(c[2])) * 0x94d049bb133111ebu;
        }
    };

    [[noreturn]] void bad(std::string_view what) const {
        throw UserError(fmt::format("{}:{}: {}", m_file.string(), m_line, what));
    }

    void skip_blanks() {
        while (m_at < m_end && (*m_at == ' ' || *m_at == '\t' || *m_at == '\r'))
            ++m_at;
    }
    bool at_line_end() {
        skip_blanks();
        return m_at == m_end || *m_at == '\n' || *m_at == '#';
    }
    void next_line() {
        m_at = static_cast<const char *>(std::memchr(m_at, '\n', size_t(m_end - m_at)));
        m_at = m_at ? m_at + 1 : m_end;
    }
    double number() {
        skip_blanks();
        if (m_at < m_end && *m_at == '+')
            ++m_at;
        double v;
        auto [end, error] = std::from_chars(m_at, m_end, v);
        if (error != std::errc())
            bad("a number is missing or malformed");
        m_at = end;
        return v;
    }

    void parse_line() {
        skip_blanks();
        const char *word = m_at;
        while (m_at < m_end && *m_at > ' ')
            ++m_at;
        std::string_view key(word, size_t(m_at - word));
        if (key == "v")
            numbers(m_v, 3);
        else if (key == "vt")
            numbers(m_vt, 2);
        else if (key == "vn")
            numbers(m_vn, 3);
        else if (key == "f")
            face();
        next_line();
    }

    void numbers(std::vector<double> &to, int count) {
        for (int i = 0; i < count; ++i)
            to.push_back(i && at_line_end() && count == 2 ? 0
                                                          : number()); // a 1D texture coordinate
    }

    void face() {
        uint32_t first = 0, last = 0;
        for (int i = 0; !at_line_end(); ++i) {
            uint32_t v = vertex_of(corner());
            if (i == 0)
                first = v;
            else if (i >= 2)
                indices.insert(indices.end(), { first, last, v });
            last = v;
        }
    }

    Corner corner() {
        Corner c{};
        size_t counts[3] = { m_v.size() / 3, m_vt.size() / 2, m_vn.size() / 3 };
        for (size_t k = 0; k < 3; ++k) {
            if (k && (m_at == m_end || *m_at != '/'))
                break;
            if (k && *++m_at == '/' && k == 1) // v//n
                continue;
            int64_t i = 0;
            auto [end, error] = std::from_chars(m_at, m_end, i);
            if (error != std::errc()) {
                if (k == 0)
                    bad("a face's vertex is malformed; expected v, v/vt, v//vn or v/vt/vn");
                continue;
            }
            m_at = end;
            if (i < 0)
                i += int64_t(counts[k]) + 1;
            if (i < 1 || i > int64_t(counts[k]))
                bad(fmt::format("a face refers to {} {} of {}",
                                k == 0   ? "vertex"
                                : k == 1 ? "texture coordinate"
                                         : "normal",
                                i, counts[k]));
            c[k] = i;
        }
        return c;
    }

    uint32_t vertex_of(const Corner &c) {
        auto [it, fresh] = m_vertices.emplace(c, uint32_t(vertex_count()));
        if (!fresh)
            return it->second;
        if (vertex_count() >= (1u << 31))
            bad("the mesh has more than 2^31 vertices");
        const double *v = &m_v[size_t(3 * (c[0] - 1))];
        positions.insert(positions.end(), v, v + 3);
        double uv[2] = {}, n[3] = { 0, 0, 1 };
        if (c[1]) {
            std::memcpy(uv, &m_vt[size_t(2 * (c[1] - 1))], sizeof uv);
            if (m_flip_v)
                uv[1] = 1 - uv[1];
            m_any_uv = true;
        }
        if (c[2]) {
            std::memcpy(n, &m_vn[size_t(3 * (c[2] - 1))], sizeof n);
            m_any_normal = true;
        }
        uvs.insert(uvs.end(), uv, uv + 2);
        normals.insert(normals.end(), n, n + 3);
        return it->second;
    }

    std::filesystem::path m_file;
    bool m_flip_v = true;
    bool m_any_normal = false, m_any_uv = false;

    const char *m_at = nullptr, *m_end = nullptr;
    size_t m_line = 0;
    std::vector<double> m_v, m_vt, m_vn;
    std::unordered_map<Corner, uint32_t, Hash> m_vertices;
};

UMBEL_PLUGIN(Shape, Obj, "obj")
} // namespace umbel
