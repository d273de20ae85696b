// serialized: triangle meshes in the compressed binary format of older Mitsuba versions.
//
// A file holds one mesh or several, one after the other: four bytes (0x041c and the version, 3 or 4) and a zlib stream with
// flags, name (version 4), counts, positions, normals, texture coordinates, colours and triangles. A table at the end says
// where each mesh begins, in 32 bits a mesh (version 3) or 64, and how many there are. All numbers are little endian.
//
// Colours become the attribute vertex_color. Versions 3 and 4 are read; there are no others in use.
#include "core/host_array.h"
#include "core/reads_files.h"
#include "render/shape.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <zlib.h>

namespace umbel {

namespace {

static_assert(std::endian::native == std::endian::little);

/// The compressed part of a mesh. Memory grows with what arrives, whatever a damaged file announces.
class Inflater {
public:
    /// `compressed` lies at `offset` in the file, and must stay.
    Inflater(std::string file, uint64_t offset, std::string_view compressed)
        : m_file(std::move(file)), m_offset(offset), m_size(compressed.size()) {
        m_stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(compressed.data()));
        m_stream.avail_in = uInt(compressed.size());
        if (inflateInit(&m_stream) != Z_OK)
            throw DeviceError("zlib cannot be initialized; is there memory left?");
    }
    ~Inflater() { inflateEnd(&m_stream); }
    Inflater(const Inflater &) = delete;

    [[noreturn]] void bad(std::string_view what) const {
        throw UserError(fmt::format("{}: offset {}: {}", m_file,
                                    m_offset + (m_size - m_stream.avail_in), what));
    }

    void read(void *to, size_t bytes, const char *what) {
        m_stream.next_out = static_cast<Bytef *>(to);
        m_stream.avail_out = uInt(bytes);
        while (m_stream.avail_out > 0) {
            int state = inflate(&m_stream, Z_SYNC_FLUSH);
            if (state == Z_OK)
                continue;
            bool is_over =
                state == Z_STREAM_END || (state == Z_BUF_ERROR && m_stream.avail_in == 0);
            if (is_over && m_stream.avail_out == 0)
                return;
            bad(fmt::format("{} while reading {}; the file is damaged: export or copy it again",
                            is_over ? "the data ends too early" : "the compressed data is invalid",
                            what));
        }
    }
    template <class T> T number(const char *what) {
        T v;
        read(&v, sizeof v, what);
        return v;
    }
    /// So many numbers of type From.
    template <class From, class To>
    void append(std::vector<To> &to, uint64_t count, const char *what) {
        std::array<From, 4096> part;
        while (count > 0) {
            auto n = size_t(std::min<uint64_t>(count, part.size()));
            read(part.data(), n * sizeof(From), what);
            to.insert(to.end(), part.begin(), part.begin() + ptrdiff_t(n));
            count -= n;
        }
    }

private:
    std::string m_file;
    uint64_t m_offset, m_size;
    z_stream m_stream{};
};

} // namespace

class Serialized final : public Mesh, public ReadsFiles {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/mesh.serialized'/>");
        p.example("<string name='filename' value='$files/mesh.serialized'/>"
                  "<integer name='shape_index' value='1'/>"
                  "<float name='max_smooth_angle' value='30'/>");
        Mesh::declare(p);
        p.file("filename", m_file).doc("The file to read");
        p.integer("shape_index", m_index, 0, 0).fixed().doc("Which of its meshes, from 0 on");
        declare_normals(p);
        p.number("max_smooth_angle", m_smooth_angle, 0, 0, 180)
            .fixed()
            .doc("In degrees: gives up the file's normals for new ones, which are smooth over "
                 "edges where the surface bends by less. 0: the file's normals stay");
    }

    void read_files() override {
        positions.clear(), normals.clear(), uvs.clear(), indices.clear();
        m_colours.clear();
        read_mesh(m_colours);
        bool rebuild = m_smooth_angle > 0 && !m_face_normals;
        if (m_face_normals || rebuild)
            normals.clear();
        m_normals_came_along = !normals.empty();
        to_world_space();
        if (rebuild)
            smooth_up_to(m_smooth_angle, m_colours);
        else if (!m_face_normals && normals.empty())
            smooth_normals();
    }

    void configure() override {
        take_files();
        finish_mesh(m_normals_came_along);
        if (!m_colours.empty())
            set_attribute("vertex_color", 3, float_array(m_colours));
        m_colours = {};
    }

private:
    enum Flag : uint32_t {
        Normals = 1,
        Uvs = 2,
        Colours = 8,
        FaceNormals = 0x10,
        Single = 0x1000,
        Double = 0x2000
    };

    [[noreturn]] void bad(uint64_t offset, std::string_view what) const {
        throw UserError(fmt::format("{}: offset {}: {}", m_file.string(), offset, what));
    }

    // ---- the file

    template <class T> T number_at(std::ifstream &in, uint64_t offset) const {
        T v{};
        in.clear();
        in.seekg(std::streamoff(offset));
        in.read(reinterpret_cast<char *>(&v), sizeof v);
        if (!in)
            bad(offset, "the file ends too early; export or copy it again");
        return v;
    }
    // Version of the mesh that begins there.
    uint16_t version_at(std::ifstream &in, uint64_t offset) const {
        auto magic = number_at<uint16_t>(in, offset), version = number_at<uint16_t>(in, offset + 2);
        if (magic != 0x041c)
            bad(offset, fmt::format("no mesh begins here (found {:#06x}, expected 0x041c); is this "
                                    "a .serialized file, and complete?",
                                    magic));
        if (version != 3 && version != 4)
            bad(offset + 2, fmt::format("the mesh has version {}; 3 and 4 can be read: export it "
                                        "again with Mitsuba 0.5 or 0.6",
                                        version));
        return version;
    }
    struct Place {
        uint64_t begin, end;
        uint16_t version;
    };
    // Only the mesh that is asked for is read: files may hold thousands.
    Place find_mesh(std::ifstream &in) const {
        in.seekg(0, std::ios::end);
        auto size = uint64_t(in.tellg());
        uint16_t version = version_at(in, 0);
        if (size < 8)
            bad(size, "the file ends too early; export or copy it again");
        uint64_t width = version == 3 ? 4 : 8, count = number_at<uint32_t>(in, size - 4);
        if (count == 0 || count * width > size - 8)
            bad(size - 4,
                fmt::format("a table of {} meshes does not fit a file of {} bytes; export "
                            "or copy it again",
                            count, size));
        if (uint64_t(m_index) >= count)
            complain("{} has {} mesh{}; shape_index is {}, and must be at most {}", m_file.string(),
                     count, count == 1 ? "" : "es", m_index, count - 1);
        uint64_t table = size - 4 - count * width;
        auto entry = [&](uint64_t i) {
            uint64_t at = table + i * width;
            return width == 4 ? number_at<uint32_t>(in, at) : number_at<uint64_t>(in, at);
        };
        auto index = uint64_t(m_index);
        Place p{ entry(index), index + 1 < count ? entry(index + 1) : table, 0 };
        if (p.end > table || p.begin + 4 > p.end || p.begin > p.end)
            bad(table + index * width,
                fmt::format("mesh {} of {} cannot lie from {} to {} in a file whose table is at "
                            "{}; export or copy it again",
                            index, count, p.begin, p.end, table));
        p.version = version_at(in, p.begin);
        return p;
    }

    void read_mesh(std::vector<double> &colours) {
        std::ifstream in(m_file, std::ios::binary);
        if (!in)
            fail("{}: cannot be read", m_file.string());
        Place place = find_mesh(in);
        uint64_t first = place.begin + 4;
        std::string compressed(place.end - first, 0);
        if (compressed.size() > std::numeric_limits<uInt>::max())
            bad(place.begin, "a mesh takes more than 4 GiB; divide it into several");
        in.seekg(std::streamoff(first));
        in.read(compressed.data(), std::streamsize(compressed.size()));
        if (!in)
            bad(first, "cannot be read up to its end");
        Inflater data(m_file.string(), first, compressed);

        // Header
        auto flags = data.number<uint32_t>("flags");
        for (char c = 1; place.version >= 4 && c;)
            c = data.number<char>("the mesh's name");
        if (bool(flags & Single) == bool(flags & Double))
            data.bad(fmt::format("flags {:#x} say neither or both of single and double precision; "
                                 "export the file again",
                                 flags));
        auto vertices = data.number<uint64_t>("the number of vertices"),
             triangles = data.number<uint64_t>("the number of triangles");
        if (vertices >= (1u << 31) || triangles >= (1u << 30))
            data.bad(fmt::format("{} vertices and {} triangles are too many, or the file is "
                                 "damaged; divide the mesh into several",
                                 vertices, triangles));
        if (triangles == 0)
            data.bad("the mesh has no triangles; leave it out of the scene");
        if (flags & FaceNormals)
            m_face_normals = true;

        // Arrays
        auto numbers = [&](std::vector<double> &to, uint64_t each, const char *what) {
            flags &Double ? data.append<double>(to, each * vertices, what)
                          : data.append<float>(to, each * vertices, what);
        };
        numbers(positions.get(), 3, "positions");
        if (flags & Normals)
            numbers(normals.get(), 3, "normals");
        if (flags & Uvs)
            numbers(uvs.get(), 2, "texture coordinates");
        if (flags & Colours)
            numbers(colours, 3, "colours");
        data.append<uint32_t>(indices.get(), 3 * triangles, "triangles");
        for (size_t i = 0; i < indices.size(); ++i)
            if (indices[i] >= vertices)
                data.bad(fmt::format("triangle {} refers to vertex {} of {}; export the file again",
                                     i / 3, indices[i], vertices));
        for (const std::vector<double> *list : { &normals.get(), &uvs.get(), &colours })
            for (double v : *list)
                if (!std::isfinite(v))
                    data.bad("a normal, texture coordinate or colour is not a finite number; "
                             "export the file again");
    }

    // ---- creases

    // Around each place, triangles that share an edge there and bend by less than the angle have one normal. Vertices that need
    // several become several, with the same texture coordinates and colours.
    void smooth_up_to(double degrees, std::vector<double> &colours) {
        double least = std::cos(degrees * Pi / 180);
        std::vector<uint32_t> places = places_of_vertices();
        std::vector<std::array<double, 3>> face(triangle_count());
        for (size_t t = 0; t < face.size(); ++t) {
            face[t] = area_normal(t);
            double length = std::hypot(face[t][0], face[t][1], face[t][2]);
            for (double &v : face[t])
                v = length > 0 ? v / length : 0;
        }

        // Corners by edge: each names its place, and the place at the edge's other end
        struct Spoke {
            uint32_t place, other, corner;
        };
        std::vector<Spoke> spokes;
        for (uint32_t c = 0; c < indices.size(); ++c) {
            uint32_t first = c / 3 * 3;
            for (uint32_t step : { 1u, 2u })
                spokes.push_back(
                    { places[indices[c]], places[indices[first + (c - first + step) % 3]], c });
        }
        std::sort(spokes.begin(), spokes.end(), [](const Spoke &a, const Spoke &b) {
            return std::tie(a.place, a.other, a.corner) < std::tie(b.place, b.other, b.corner);
        });
        std::vector<uint32_t> group(indices.size());
        std::iota(group.begin(), group.end(), 0u);
        auto root = [&](uint32_t c) {
            while (group[c] != c)
                c = group[c] = group[group[c]];
            return c;
        };
        auto bends_less = [&](uint32_t a, uint32_t b) {
            const auto &m = face[a / 3], &n = face[b / 3];
            return m[0] * n[0] + m[1] * n[1] + m[2] * n[2] >= least;
        };
        for (size_t i = 1; i < spokes.size(); ++i) {
            const Spoke &a = spokes[i - 1], &b = spokes[i];
            if (a.place == b.place && a.other == b.other && bends_less(a.corner, b.corner))
                group[root(b.corner)] = root(a.corner);
        }

        // A vertex for each pair of an old one and a group; normals are summed over groups
        std::vector<double> sums(3 * group.size());
        for (uint32_t c = 0; c < group.size(); ++c) {
            double angle = angle_at(c);
            for (size_t j = 0; j < 3; ++j)
                sums[3 * root(c) + j] += face[c / 3][j] * angle;
        }
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> made;
        std::vector<double> new_positions, new_uvs, new_colours;
        auto copy = [](std::vector<double> &to, const std::vector<double> &from, uint32_t i,
                       uint32_t n) {
            if (!from.empty())
                to.insert(to.end(), from.begin() + ptrdiff_t(i) * n,
                          from.begin() + ptrdiff_t(i + 1) * n);
        };
        for (uint32_t c = 0; c < group.size(); ++c) {
            uint32_t old = indices[c], g = root(c);
            auto [it, is_new] = made.try_emplace({ old, g }, uint32_t(made.size()));
            indices[c] = it->second;
            if (!is_new)
                continue;
            copy(new_positions, positions, old, 3);
            copy(new_uvs, uvs, old, 2);
            copy(new_colours, colours, old, 3);
            const double *n = &sums[3 * g];
            double length = std::hypot(n[0], n[1], n[2]);
            for (size_t j = 0; j < 3; ++j)
                normals.push_back(length > 0 ? n[j] / length : j == 2 ? 1.0 : 0.0);
        }
        positions = std::move(new_positions);
        uvs = std::move(new_uvs);
        colours = std::move(new_colours);
    }

    // The same number for vertices at the same place, which differ in other things.
    std::vector<uint32_t> places_of_vertices() const {
        std::map<std::array<double, 3>, uint32_t> seen;
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < vertex_count(); ++i) {
            auto p = vertex(i);
            for (double &v : p) // what is no number has no order
                if (std::isnan(v))
                    complain("a vertex position is not a finite number");
            out.push_back(seen.try_emplace(p, uint32_t(seen.size())).first->second);
        }
        return out;
    }
    double angle_at(uint32_t corner) const {
        uint32_t first = corner / 3 * 3, k = corner - first;
        auto p = vertex(indices[corner]), a = vertex(indices[first + (k + 1) % 3]),
             b = vertex(indices[first + (k + 2) % 3]);
        double dot = 0, la = 0, lb = 0;
        for (size_t j = 0; j < 3; ++j) {
            dot += (a[j] - p[j]) * (b[j] - p[j]);
            la += (a[j] - p[j]) * (a[j] - p[j]);
            lb += (b[j] - p[j]) * (b[j] - p[j]);
        }
        double lengths = std::sqrt(la * lb);
        return lengths > 0 ? std::acos(std::clamp(dot / lengths, -1.0, 1.0)) : 0;
    }

    std::filesystem::path m_file;
    int m_index = 0;
    double m_smooth_angle = 0;
    bool m_normals_came_along = false;
    std::vector<double> m_colours; // while it is being loaded
};

UMBEL_PLUGIN(Shape, Serialized, "serialized")
} // namespace umbel
