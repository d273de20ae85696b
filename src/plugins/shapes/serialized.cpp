// serialized: triangle meshes in the compressed binary format of older Mitsuba versions.
//
// A file holds one mesh or several, one after the other: four bytes (0x041c and the version, 3 or 4) and a zlib stream with
// flags, name (version 4), counts, positions, normals, texture coordinates, colours and triangles. A table at the end says
// where each mesh begins, in 32 bits a mesh (version 3) or 64, and how many there are. All numbers are little endian.
//
// Colours become the attribute vertex_color. Versions 3 and 4 are read; there are no others in use.
#include "core/host_array.h"
#include "core/reads_files.h"
#include "render/mesh_creases.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
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
        m_creases.declare(p);
    }

    void read_files() override {
        positions.clear(), normals.clear(), uvs.clear(), indices.clear();
        m_colours.clear();
        read_mesh(m_colours);
        if (m_face_normals || m_creases.given())
            normals.clear();
        m_normals_came_along = !normals.empty();
        to_world_space();
        if (m_face_normals || m_normals_came_along)
            return;
        if (m_creases.given())
            m_creases.smooth(*this, { { &m_colours, 3 } });
        else
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
        for (const std::vector<double> *list :
             { &positions.get(), &normals.get(), &uvs.get(), &colours })
            for (double v : *list)
                if (!std::isfinite(v))
                    data.bad("a position, normal, texture coordinate or colour is not a finite "
                             "number; export the file again");
    }

    std::filesystem::path m_file;
    int m_index = 0;
    Creases m_creases;
    bool m_normals_came_along = false;
    std::vector<double> m_colours; // while it is being loaded
};

UMBEL_PLUGIN(Shape, Serialized, "serialized")
} // namespace umbel
