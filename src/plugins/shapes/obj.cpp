// obj: triangle meshes in Wavefront's text format.
//
// Reads v, vt, vn and f; polygons become fans of triangles, and negative indices count from the end. Groups and lines are
// passed over. Vertices with several normals or texture coordinates are duplicated. A backslash at its end continues a line.
//
// With `load_materials`, as old scenes have it, the file is several shapes, one for each of its materials (usemtl): its
// surface is the BSDF of that name, or comes from the file's library (mtllib), or else is the BSDF of another name.
//
// A file is cut into pieces of whole lines, which all cores parse; the pieces are put together in their order.
#include "core/file_text.h"
#include "core/large_pages.h"
#include "core/load_warnings.h"
#include "core/mtl_file.h"
#include "core/reads_files.h"
#include "core/scene_file.h"
#include "jit/parallel.h"
#include "render/mesh_creases.h"
#include "render/shape_list.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

namespace umbel {

namespace {

/// Position, texture coordinates and normal of a corner, from 1 on; 0: none.
using Corner = std::array<int64_t, 3>;
/// Added to those that count from the end: they are relative to what comes before their piece.
constexpr int64_t Relative = int64_t(1) << 40;

/// Whether a comment begins in a part of a line: where the part does, or behind a blank.
bool has_comment(const char *at, const char *end) {
    for (const char *c = at; (c = static_cast<const char *>(std::memchr(c, '#', size_t(end - c))));
         ++c)
        if (c == at || c[-1] == ' ' || c[-1] == '\t')
            return true;
    return false;
}

/// Behind the end of a line, from a place in it on. A backslash joins a line with the next one, save in a comment; none
/// reaches back beyond `begin`.
const char *behind_line(const char *begin, const char *at, const char *end) {
    while (const void *line = std::memchr(at, '\n', size_t(end - at))) {
        const char *from = at, *last = static_cast<const char *>(line);
        at = last + 1;
        if (last > begin && last[-1] == '\r')
            --last;
        if (last == begin || last[-1] != '\\' || has_comment(from, last))
            return at;
    }
    return end;
}

struct ParseError {
    const char *at;
    std::string what;
};

/// Some lines of a file.
struct Piece {
    std::vector<double> lists[3]; // v, vt, vn
    std::vector<Corner> corners;  // three a triangle
    struct Use {
        size_t corner; // from here on
        std::string_view material;
    };
    std::vector<Use> uses;
    std::vector<size_t> groups; // the corners that they begin with
    std::vector<std::string_view> libraries;
    bool has_error = false;
    ParseError error;

    Piece() = default;
    Piece(Piece &&) = default;
    void parse(const char *begin, const char *end) {
        m_at = begin;
        m_end = end;
        try {
            while (m_at < m_end)
                parse_line();
        } catch (ParseError &e) {
            has_error = true;
            error = std::move(e);
        }
    }
    size_t count(size_t k) const { return lists[k].size() / Sizes[k]; }
    static constexpr size_t Sizes[3] = { 3, 2, 3 };

private:
    [[noreturn]] void bad(const char *what) const { throw ParseError{ m_at, what }; }

    // Also a backslash with the end of the line that it continues.
    void skip_blanks() {
        while (m_at < m_end) {
            if (*m_at == '\\' && m_end - m_at > 1 && (m_at[1] == '\n' || m_at[1] == '\r'))
                m_at += m_at[1] == '\r' && m_end - m_at > 2 && m_at[2] == '\n' ? 3 : 2;
            else if (*m_at == ' ' || *m_at == '\t' || *m_at == '\r')
                ++m_at;
            else
                return;
        }
    }
    bool at_line_end() {
        skip_blanks();
        return m_at == m_end || *m_at == '\n' || *m_at == '#';
    }
    double number() {
        skip_blanks();
        if (m_at < m_end && *m_at == '+')
            ++m_at;
        double v;
        auto [end, error] = std::from_chars(m_at, m_end, v);
        if (error != std::errc())
            bad("a number is missing, malformed or too large; correct the line, or export the "
                "file again");
        m_at = end;
        return v;
    }

    void parse_line() {
        const char *begin = m_at;
        skip_blanks();
        const char *word = m_at;
        while (m_at < m_end && *m_at > ' ')
            ++m_at;
        std::string_view key(word, size_t(m_at - word));
        if (key == "v")
            numbers(0);
        else if (key == "vt")
            numbers(1);
        else if (key == "vn")
            numbers(2);
        else if (key == "f")
            face();
        else if (key == "usemtl")
            uses.push_back({ corners.size(), rest() });
        else if (key == "g" || key == "o")
            groups.push_back(corners.size());
        else if (key == "mtllib")
            libraries.push_back(rest());
        m_at = behind_line(begin, key.starts_with('#') ? word : m_at, m_end);
    }

    // Names may have blanks inside.
    std::string_view rest() {
        skip_blanks();
        const char *end = std::find(m_at, m_end, '\n');
        while (end > m_at && end[-1] <= ' ')
            --end;
        return { m_at, size_t(end - m_at) };
    }

    void numbers(size_t k) {
        for (size_t i = 0; i < Sizes[k]; ++i) // a texture coordinate may have one
            lists[k].push_back(k == 1 && i && at_line_end() ? 0 : number());
    }

    void face() {
        Corner first, last;
        for (int i = 0; !at_line_end(); ++i) {
            Corner c = corner();
            if (i == 0)
                first = c;
            else if (i >= 2)
                corners.insert(corners.end(), { first, last, c });
            last = c;
        }
    }

    Corner corner() {
        Corner c{};
        for (size_t k = 0; k < 3; ++k) {
            if (k && (m_at == m_end || *m_at != '/'))
                break;
            if (k && ++m_at < m_end && *m_at == '/' && k == 1) // v//n
                continue;
            int64_t i = 0;
            auto [end, error] = std::from_chars(m_at, m_end, i);
            if (error != std::errc()) {
                if (k == 0)
                    bad("a face's vertex is malformed; expected v, v/vt, v//vn or v/vt/vn");
                continue;
            }
            if (i == 0 || i <= -Relative / 2 || i >= Relative / 2)
                bad("a face refers to something that cannot be; indices begin at 1");
            m_at = end;
            c[k] = i > 0 ? i : i + int64_t(count(k)) + 1 + Relative;
        }
        return c;
    }

    const char *m_at = nullptr, *m_end = nullptr;
};

/// A file, and what was found in it.
struct Parsed {
    explicit Parsed(const std::filesystem::path &path) : file(path), text(file.view()) {
        constexpr size_t Size = 1 << 19; // whatever the number of threads
        std::vector<const char *> ends;
        const char *end = text.data() + text.size();
        for (const char *at = text.data(); at < end; ends.push_back(at)) {
            at += std::min(Size, size_t(end - at));
            at = behind_line(text.data(), at, end);
        }
        pieces.resize(ends.size());
        jit::parallel_for(size_t(0), ends.size(), [&](size_t i) {
            pieces[i].parse(i ? ends[i - 1] : text.data(), ends[i]);
        });
        for (const Piece &p : pieces)
            if (p.has_error)
                bad(path, p.error.at, p.error.what);
        if (std::all_of(pieces.begin(), pieces.end(),
                        [](const Piece &p) { return p.corners.empty(); }))
            fail("{}: the file holds no faces", path.string());
    }
    [[noreturn]] void bad(const std::filesystem::path &path, const char *at,
                          std::string_view what) const {
        throw UserError(
            fmt::format("{}:{}: {}", path.string(), 1 + std::count(text.data(), at, '\n'), what));
    }
    /// Of all faces, in the order in which they come; empty for those before the first.
    std::vector<std::string> materials() const {
        std::vector<std::string> out;
        std::string_view current;
        for (const Piece &p : pieces)
            for (size_t use = 0, from = 0; from < p.corners.size() || use < p.uses.size(); ++use) {
                size_t to = use < p.uses.size() ? p.uses[use].corner : p.corners.size();
                if (to > from && std::find(out.begin(), out.end(), current) == out.end())
                    out.emplace_back(current);
                if (use == p.uses.size())
                    break;
                current = p.uses[use].material;
                from = to;
            }
        return out;
    }

    /// Of the face that a corner belongs to.
    std::string material_at(size_t corner) const {
        std::string_view current;
        size_t before = 0;
        for (const Piece &p : pieces) {
            for (const Piece::Use &use : p.uses)
                if (before + use.corner <= corner)
                    current = use.material;
            before += p.corners.size();
        }
        return std::string(current);
    }
    /// The corners with which its meshes begin, and where the last one ends: at groups, unless `collapsed`, and at
    /// materials. None is empty.
    std::vector<size_t> meshes(bool collapsed) const {
        std::vector<size_t> cuts = { 0 };
        size_t before = 0;
        for (const Piece &p : pieces) {
            for (const Piece::Use &use : p.uses)
                cuts.push_back(before + use.corner);
            for (size_t corner : p.groups)
                if (!collapsed)
                    cuts.push_back(before + corner);
            before += p.corners.size();
        }
        cuts.push_back(before);
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        return cuts;
    }

    /// While somebody has it, it is not read again.
    static std::shared_ptr<Parsed> shared(const std::filesystem::path &path) {
        static std::mutex mutex;
        static std::map<std::filesystem::path, std::weak_ptr<Parsed>> known;
        std::lock_guard lock(mutex);
        std::weak_ptr<Parsed> &entry = known[path];
        std::shared_ptr<Parsed> parsed = entry.lock();
        if (!parsed)
            entry = parsed = std::make_shared<Parsed>(path);
        return parsed;
    }

    FileBytes file;
    std::string_view text;
    std::vector<Piece> pieces;
};

} // namespace

class Obj final : public Mesh, public ReadsFiles {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/mesh.obj'/>");
        p.example("<string name='filename' value='$files/mesh.obj'/>"
                  "<float name='max_smooth_angle' value='30'/>");
        Mesh::declare(p);
        p.file("filename", m_file).doc("The file to read");
        declare_normals(p);
        m_creases.declare(p);
        p.boolean("flip_tex_coords", m_flip_v, true)
            .doc("Files count v from the bottom of the image, textures from its top");
        bool splits = false;
        p.boolean("load_materials", splits, false)
            .fixed()
            .doc("Makes a shape of each material of the file: with the BSDF of that name, or "
                 "what its library (.mtl) says");
        if (p.loading())
            m_is_part = p.properties()->has("material_name");
        p.string("material_name", m_material, "")
            .fixed()
            .doc("Only faces of this material; all if absent");
        p.integer("shape_index", m_mesh, -1, -1)
            .fixed()
            .doc("Only this one of the file's meshes, from 0 on, which begin at groups (g, o) and "
                 "materials (usemtl); -1: all, as one shape");
        p.boolean("collapse", m_collapsed, false)
            .fixed()
            .doc("For `shape_index`: groups begin no meshes");
    }

    void read_files() override {
        positions.clear(), normals.clear(), uvs.clear(), indices.clear();
        if (m_is_part) {
            join(*Parsed::shared(m_file), false);
        } else {
            Parsed own(m_file);
            join(own, true);
        }
        if (m_face_normals || m_creases.given())
            normals.clear();
        m_normals_came_along = !normals.empty();
        to_world_space();
        if (m_face_normals || m_normals_came_along)
            return;
        if (m_creases.given())
            m_creases.smooth(*this);
        else
            smooth_normals();
    }

    void configure() override {
        take_files();
        finish_mesh(m_normals_came_along);
    }

private:
    // `consumes`: nobody else needs it.
    void join(Parsed &parsed, bool consumes) {
        std::vector<Piece> &pieces = parsed.pieces;
        std::vector<double> joined[3];
        std::array<const double *, 3> lists{};
        std::array<int64_t, 3> before{};
        size_t corner_count = 0;
        std::vector<std::array<int64_t, 3>> bases;
        for (Piece &p : pieces) {
            bases.push_back(before);
            corner_count += p.corners.size();
            for (size_t k = 0; k < 3; ++k) {
                before[k] += int64_t(p.count(k));
                lists[k] = p.lists[k].data();
                if (pieces.size() == 1)
                    continue;
                joined[k].insert(joined[k].end(), p.lists[k].begin(), p.lists[k].end());
                lists[k] = joined[k].data();
                if (consumes)
                    p.lists[k] = {};
            }
        }
        if (uint64_t(before[0]) >= (1u << 31) || corner_count >= (1u << 31))
            fail("{}: the mesh has more than 2^31 vertices", m_file.string());

        // Vertices in the order in which faces name them; those of one position are chained
        struct Made {
            int64_t uv, normal;
            uint32_t next;
        };
        constexpr uint32_t None = ~0u;
        std::vector<uint32_t> chains(size_t(before[0]), None), &triangles = indices.get();
        std::vector<Made> made;
        std::vector<int64_t> places; // of each vertex: its position
        reserve_large(made, size_t(before[0]));
        reserve_large(places, size_t(before[0]));
        reserve_large(triangles, corner_count);
        bool any_uv = false, any_normal = false;
        auto [from, to] = wanted(parsed);
        size_t corner = 0;
        std::string_view material; // of the corners that come
        for (size_t i = 0; i < pieces.size(); ++i) {
            auto use = pieces[i].uses.begin(), last_use = pieces[i].uses.end();
            for (size_t j = 0; j < pieces[i].corners.size(); ++j) {
                for (; use != last_use && use->corner <= j; ++use)
                    material = use->material;
                bool is_outside = corner < from || corner >= to;
                ++corner;
                if (is_outside || (m_is_part && material != m_material))
                    continue;
                Corner c = pieces[i].corners[j];
                for (size_t k = 0; k < 3; ++k) {
                    if (c[k] > Relative / 2)
                        c[k] += bases[i][k] - Relative;
                    else if (k && c[k] == 0)
                        continue;
                    if (c[k] < 1 || c[k] > before[k])
                        bad_reference(parsed, k, c[k], before[k]);
                }
                any_uv |= c[1] != 0;
                any_normal |= c[2] != 0;
                uint32_t &chain = chains[size_t(c[0] - 1)], at = chain;
                while (at != None && (made[at].uv != c[1] || made[at].normal != c[2]))
                    at = made[at].next;
                if (at == None) {
                    at = uint32_t(made.size());
                    made.push_back({ c[1], c[2], chain });
                    places.push_back(c[0]);
                    chain = at;
                }
                triangles.push_back(at);
            }
            for (; use != last_use; ++use)
                material = use->material;
            if (consumes)
                pieces[i].corners = {};
        }
        if (triangles.empty())
            complain("{} has no faces of the material {}", m_file.string(), quote(m_material));

        size_t n = made.size();
        std::vector<double> &p = positions.get(), &uv = uvs.get(), &normal = normals.get();
        resize_large(p, 3 * n);
        resize_large(uv, any_uv ? 2 * n : 0);
        resize_large(normal, any_normal ? 3 * n : 0);
        jit::parallel_for(tbb::blocked_range<size_t>(0, n, 4096), [&](const auto &range) {
            for (size_t i = range.begin(); i < range.end(); ++i) {
                std::copy_n(&lists[0][3 * size_t(places[i] - 1)], 3, &p[3 * i]);
                if (any_uv && made[i].uv) {
                    const double *from = &lists[1][2 * size_t(made[i].uv - 1)];
                    uv[2 * i] = from[0];
                    uv[2 * i + 1] = m_flip_v ? 1 - from[1] : from[1];
                }
                if (any_normal && made[i].normal)
                    std::copy_n(&lists[2][3 * size_t(made[i].normal - 1)], 3, &normal[3 * i]);
                else if (any_normal)
                    normal[3 * i + 2] = 1;
            }
        });
        for (size_t i = 0; i < 3 * n; ++i)
            if (!std::isfinite(p[i]))
                bad_position(parsed, places[i / 3]);
    }

    // The corners that shape_index stands for.
    std::pair<size_t, size_t> wanted(const Parsed &parsed) const {
        if (m_mesh < 0)
            return { 0, ~size_t(0) };
        std::vector<size_t> cuts = parsed.meshes(m_collapsed);
        if (size_t(m_mesh) + 1 >= cuts.size())
            complain("{} has {} meshes; shape_index is {}, and must be at most {}", m_file.string(),
                     cuts.size() - 1, m_mesh, cuts.size() - 2);
        return { cuts[size_t(m_mesh)], cuts[size_t(m_mesh) + 1] };
    }

    // Finds the first line that cannot be: only files that are wrong pay for it.
    [[noreturn]] void bad_position(const Parsed &parsed, int64_t index) const {
        const char *end = parsed.text.data() + parsed.text.size(), *at = parsed.text.data();
        for (int64_t before = 0; at < end;) {
            const char *next = behind_line(at, at, end);
            Piece p;
            p.parse(at, next);
            before += int64_t(p.count(0));
            if (before == index)
                break;
            at = next;
        }
        parsed.bad(m_file, at,
                   fmt::format("the position of vertex {} is not a finite number; correct the "
                               "line, or export the file again",
                               index));
    }
    [[noreturn]] void bad_reference(const Parsed &parsed, size_t k, int64_t index,
                                    int64_t count) const {
        std::string_view text = parsed.text;
        std::array<int64_t, 3> before{}, all{};
        const char *end = text.data() + text.size(), *guilty = text.data();
        for (int pass = 0; pass < 2; ++pass)
            for (const char *at = text.data(); at < end;) {
                const char *next = behind_line(at, at, end);
                Piece p;
                p.parse(at, next);
                for (size_t j = 0; j < 3; ++j)
                    (pass ? before : all)[j] += int64_t(p.count(j));
                for (const Corner &c : p.corners)
                    for (size_t j = 0; pass && j < 3; ++j) {
                        int64_t i = c[j] > Relative / 2 ? c[j] - Relative + before[j] : c[j];
                        if ((i < 1 || i > all[j]) && (c[j] || !j)) {
                            guilty = at;
                            at = next = end;
                        }
                    }
                at = next;
            }
        static const char *const names[] = { "vertex", "texture coordinate", "normal" };
        parsed.bad(m_file, guilty,
                   fmt::format("a face refers to {} {} of {}; export the file again", names[k],
                               index, count));
    }

    std::filesystem::path m_file;
    Creases m_creases;
    std::string m_material;
    bool m_is_part = false; // of the file
    int m_mesh = -1;        // the one that is wanted
    bool m_collapsed = false;
    bool m_flip_v = true;
    bool m_normals_came_along = false;
};

/// A shape for each material of a file.
class ObjShapes final : public ShapeList {
public:
    void declare(Params &p) override {
        p.file("filename", m_file).doc("The file to read");
        if (!p.loading())
            return;
        const Properties &own = *p.properties();
        std::shared_ptr<Parsed> parsed = Parsed::shared(m_file);
        std::vector<std::string> materials = parsed->materials();
        if (int64_t mesh = own.get<int64_t>("shape_index", -1); mesh >= 0) {
            std::vector<size_t> cuts = parsed->meshes(own.get<bool>("collapse", false));
            if (size_t(mesh) + 1 < cuts.size()) // else the part says what is wrong
                materials = { parsed->material_at(cuts[size_t(mesh)]) };
            else
                materials.resize(1);
        }
        Library library = read_libraries(*parsed, own);
        for (const Property &property : own.all())
            property.queried = true; // the parts answer for what they do not know
        for (size_t i = 0; i < materials.size(); ++i) {
            const std::string &material = materials[i];
            bool is_one = own.id.empty() || materials.size() == 1;
            auto part = std::make_shared<Properties>(
                "shape", "obj", is_one ? own.id : fmt::format("{}_{}", own.id, i));
            part->where = own.where;
            part->files = own.files;
            part->set("material_name", material);
            for (const Property &property : own.all())
                if (!is_bsdf(property) && property.name != "load_materials")
                    add(*part, property);
            if (PropertiesPtr surface = surface_of(material, own, library))
                part->set("", std::move(surface));
            m_members.push_back(p.loader()->load_as<Shape>(part));
        }
        m_parsed = std::move(parsed); // till all have read it
    }
    void configure() override { m_parsed.reset(); }

private:
    using Library = std::map<std::string, PropertiesPtr, std::less<>>;

    static bool is_bsdf(const Property &p) { return p.object() && (*p.object())->kind == "bsdf"; }

    // Lights belong to one shape each.
    static void add(Properties &part, const Property &property) {
        const PropertiesPtr *o = property.object();
        if (o && (*o)->kind == "emitter")
            part.set(property.name, std::make_shared<Properties>(**o), property.where);
        else
            part.set(property.name, property.value, property.where);
    }

    Library read_libraries(const Parsed &parsed, const Properties &own) const {
        Library all;
        FileResolver beside = own.files ? *own.files : FileResolver();
        beside.add_folder(m_file.parent_path());
        for (const Piece &piece : parsed.pieces)
            for (std::string_view name : piece.libraries)
                try {
                    all.merge(read_mtl(beside.resolve(name, m_file.string()), own.files));
                } catch (const UserError &e) {
                    warn_while_loading(fmt::format("{}; its materials are left out", e.what()));
                }
        return all;
    }

    // Names of old scenes have been through snake_case().
    static PropertiesPtr surface_of(const std::string &material, const Properties &own,
                                    const Library &library) {
        PropertiesPtr otherwise;
        for (const Property &p : own.all())
            if (is_bsdf(p)) {
                if (p.name == material || p.name == snake_case(material))
                    return *p.object();
                otherwise = *p.object();
            }
        if (auto it = library.find(material); it != library.end())
            return it->second;
        return otherwise;
    }

    std::filesystem::path m_file;
    std::shared_ptr<Parsed> m_parsed;
};

static const RegisterPlugin s_register_obj(Shape::Kind, "obj",
                                           [](const Properties &p) -> Ref<Object> {
                                               const Property *splits = p.find("load_materials");
                                               if (splits && splits->value == PropertyValue(true))
                                                   return std::make_shared<ObjShapes>();
                                               return std::make_shared<Obj>();
                                           });
} // namespace umbel
