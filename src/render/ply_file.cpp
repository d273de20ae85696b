// render/ply_file.cpp: see ply_file.h.
#include "render/ply_file.h"
#include "core/properties.h"
#include "jit/error.h"
#include "jit/parallel.h"
#include <charconv>
#include <cmath>

namespace umbel {

namespace {

std::vector<std::string_view> words(std::string_view l) {
    std::vector<std::string_view> out;
    while (true) {
        size_t first = l.find_first_not_of(" \t");
        if (first == l.npos)
            return out;
        l.remove_prefix(first);
        out.push_back(l.substr(0, l.find_first_of(" \t")));
        l.remove_prefix(out.back().size());
    }
}

} // namespace

void PlyFile::open(const std::filesystem::path &path, std::string_view bytes) {
    m_path = path;
    m_elements.clear();
    m_begin = m_at = bytes.data();
    m_end = m_at + bytes.size();
    read_header();
}

void PlyFile::bad(std::string_view what, const char *at) const {
    at = at ? at : m_at;
    throw UserError(
        m_is_text
            ? fmt::format("{}:{}: {}", m_path.string(), 1 + std::count(m_begin, at, '\n'), what)
            : fmt::format("{}: offset {}: {}", m_path.string(), at - m_begin, what));
}

// ---- header

std::string_view PlyFile::line() {
    const char *end = static_cast<const char *>(std::memchr(m_at, '\n', size_t(m_end - m_at)));
    if (!end)
        bad("the header does not end; is this a PLY file?");
    std::string_view l(m_at, size_t(end - m_at));
    m_at = end + 1;
    if (l.ends_with('\r'))
        l.remove_suffix(1);
    return l;
}

PlyFile::Type PlyFile::type_of(std::string_view name) const {
    struct Entry {
        const char *a, *b;
        Type type;
    };
    static const Entry table[] = {
        { "char", "int8", Type::I8 },      { "uchar", "uint8", Type::U8 },
        { "short", "int16", Type::I16 },   { "ushort", "uint16", Type::U16 },
        { "int", "int32", Type::I32 },     { "uint", "uint32", Type::U32 },
        { "float", "float32", Type::F32 }, { "double", "float64", Type::F64 },
    };
    for (const Entry &e : table)
        if (name == e.a || name == e.b)
            return e.type;
    bad(fmt::format("unknown type {} in the header", quote(name)));
}

void PlyFile::read_header() {
    m_is_text = true;
    if (line() != "ply")
        bad("the first line is not \"ply\"; is this a PLY file?");
    while (true) {
        std::string_view l = line();
        auto w = words(l);
        if (w.empty() || w[0] == "comment" || w[0] == "obj_info")
            continue;
        if (w[0] == "end_header") {
            m_is_text = m_ascii;
            return;
        }
        if (w[0] == "format" && w.size() >= 2)
            read_format(w[1]);
        else if (w[0] == "element" && w.size() == 3)
            add_element(w[1], integer(w[2]));
        else if (w[0] == "property" && !m_elements.empty() && w.size() == 3)
            m_elements.back().properties.push_back(
                { std::string(w[2]), type_of(w[1]), false, Type::U8 });
        else if (w[0] == "property" && !m_elements.empty() && w.size() == 5 && w[1] == "list")
            m_elements.back().properties.push_back(
                { std::string(w[4]), type_of(w[3]), true, type_of(w[2]) });
        else
            bad(fmt::format("cannot make sense of {} in the header", quote(l)));
    }
}

void PlyFile::add_element(std::string_view name, uint64_t count) {
    for (const Element &e : m_elements)
        if (e.name == name)
            bad(fmt::format("the header has two elements {}; keep one", quote(name)));
    m_elements.push_back({ std::string(name), count, {} });
}

void PlyFile::read_format(std::string_view f) {
    if (f != "ascii" && f != "binary_little_endian" && f != "binary_big_endian")
        bad(fmt::format("unknown format {}", quote(f)));
    m_ascii = f == "ascii";
    m_swap = f == "binary_big_endian";
}

uint64_t PlyFile::integer(std::string_view w) const {
    uint64_t v = 0;
    auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (error != std::errc() || end != w.data() + w.size())
        bad(fmt::format("{} is not a count", quote(w)));
    return v;
}

// ---- data

double PlyFile::number(Type type) {
    if (m_ascii) {
        while (m_at < m_end && (*m_at == ' ' || *m_at == '\n' || *m_at == '\r' || *m_at == '\t'))
            ++m_at;
        double v;
        auto [end, error] = std::from_chars(m_at, m_end, v);
        if (error != std::errc())
            bad("the file ends too early, or holds something that is not a number; get a complete "
                "copy");
        m_at = end;
        return v;
    }
    return with_type(type, [&]<class T>(T) {
        if (size_t(m_end - m_at) < sizeof(T))
            bad("the file ends too early; get a complete copy");
        m_at += sizeof(T);
        return double(load<T>(m_at - sizeof(T)));
    });
}

uint64_t PlyFile::list_length(const Property &p) {
    double n = number(p.count_type);
    // An element of a list takes a byte at least
    if (!(n >= 0 && n <= double(m_end - m_at)))
        bad(fmt::format("a list of {} elements does not fit the file", n));
    return uint64_t(n);
}

void PlyFile::skip(const Property &p) {
    for (uint64_t i = p.is_list ? list_length(p) : 1; i > 0; --i)
        number(p.type);
}

void PlyFile::skip(const Element &e) {
    if (e.properties.empty()) // nothing to read, however large the count
        return;
    for (uint64_t i = 0; i < e.count; ++i)
        for (const Property &p : e.properties)
            skip(p);
}

// Binary records without lists, by all cores; false if these are others.
bool PlyFile::read_records(const Element &e, const std::vector<Target> &targets) {
    size_t bytes = 0;
    std::vector<size_t> offsets;
    for (const Property &p : e.properties) {
        if (m_ascii || p.is_list)
            return false;
        offsets.push_back(bytes);
        bytes += size_of(p.type);
    }
    if (e.count > uint64_t(m_end - m_at) / bytes) {
        m_at = m_end;
        bad("the file ends too early; get a complete copy");
    }
    jit::parallel_for(tbb::blocked_range<size_t>(0, e.count, 4096), [&](const auto &range) {
        for (size_t k = 0; k < targets.size(); ++k)
            if (const Target &t = targets[k])
                with_type(e.properties[k].type, [&]<class T>(T) {
                    const char *from = m_at + bytes * range.begin() + offsets[k];
                    double *to = t.list->data() + t.stride * range.begin() + t.offset;
                    for (size_t i = range.begin(); i < range.end(); ++i) {
                        *to = double(load<T>(from));
                        from += bytes;
                        to += t.stride;
                    }
                });
    });
    for (const Target &t : targets)
        for (size_t i = 0; t.is_finite && i < e.count; ++i)
            if (!std::isfinite((*t.list)[t.stride * i + t.offset]))
                bad_number(i, m_at + bytes * i);
    m_at += bytes * e.count;
    return true;
}

void PlyFile::bad_number(uint64_t i, const char *at) const {
    bad(fmt::format("a coordinate of vertex {} is not a finite number; correct it, or export the "
                    "file again",
                    i),
        at);
}

void PlyFile::read_element(const Element &e, const std::vector<Target> &targets) {
    if (read_records(e, targets))
        return;
    for (uint64_t i = 0; i < e.count; ++i)
        for (size_t k = 0; k < targets.size(); ++k) {
            const Target &t = targets[k];
            const char *place = m_at;
            if (!t) {
                skip(e.properties[k]);
                continue;
            }
            double v = number(e.properties[k].type);
            if (t.is_finite && !std::isfinite(v))
                bad_number(i, m_ascii ? m_at : place); // blanks before it may hold a line's end
            (*t.list)[t.stride * i + t.offset] = v;
        }
}

} // namespace umbel
