// core/tensor_file.cpp: see core/tensor_file.h.
#include "core/tensor_file.h"
#include "core/file_text.h"
#include "core/properties.h"
#include "jit/error.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace umbel {

namespace {

// By number: none, u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64.
constexpr size_t Widths[] = { 0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8 };

template <class T> double number_at(const char *at) {
    T v;
    std::memcpy(&v, at, sizeof v);
    return double(v);
}
double number_at(const char *at, size_t type) {
    switch (type) {
    case 1: return number_at<uint8_t>(at);
    case 2: return number_at<int8_t>(at);
    case 3: return number_at<uint16_t>(at);
    case 4: return number_at<int16_t>(at);
    case 5: return number_at<uint32_t>(at);
    case 6: return number_at<int32_t>(at);
    case 7: return number_at<uint64_t>(at);
    case 8: return number_at<int64_t>(at);
    case 9: return number_at<_Float16>(at);
    case 10: return number_at<float>(at);
    default: return number_at<double>(at);
    }
}

std::string shape_text(const std::vector<size_t> &shape) {
    std::string out;
    for (size_t n : shape)
        out += (out.empty() ? "" : " x ") + (n ? std::to_string(n) : std::string("any"));
    return out.empty() ? "a single number" : out;
}

} // namespace

TensorFile::TensorFile(const std::filesystem::path &path)
    : m_path(path), m_bytes(read_text_file(path)) {
    size_t at = 0;
    auto damaged = [&](size_t byte, const std::string &what) {
        fail("{}: byte {}: {}; is it a tensor file, and complete?", m_path.string(), byte, what);
    };
    auto take = [&](size_t n, const char *what) {
        if (n > m_bytes.size() - at)
            damaged(at, fmt::format("the file ends within {}", what));
        const char *p = m_bytes.data() + at;
        at += n;
        return p;
    };
    auto integer = [&](size_t n, const char *what) {
        uint64_t v = 0;
        std::memcpy(&v, take(n, what), n);
        return v;
    };

    if (std::memcmp(take(12, "its header"), "tensor_file", 12) != 0)
        damaged(0, "\"tensor_file\" is missing");
    if (uint64_t version = integer(2, "its header"); version != 1)
        damaged(12,
                fmt::format("the version is {}.{}; 1.0 is supported", version & 255, version >> 8));
    uint64_t count = integer(4, "its header");
    for (uint64_t i = 0; i < count; ++i) {
        Field f;
        f.entry = at;
        size_t length = integer(2, "the table of contents");
        std::string name(take(length, "the name of a field"), length);
        size_t dimensions = integer(2, "the table of contents");
        f.type = integer(1, "the table of contents");
        if (f.type == 0 || f.type >= std::size(Widths))
            damaged(at - 1, fmt::format("field {} has numbers of the unknown type {}", quote(name),
                                        f.type));
        f.offset = integer(8, "the table of contents");
        // However large the numbers of the shape are, none is multiplied that is not in the file
        size_t most = m_bytes.size() / Widths[f.type], size = 1;
        for (size_t d = 0; d < dimensions; ++d) {
            f.shape.push_back(integer(8, "the table of contents"));
            if (f.shape.back() > most / std::max<size_t>(size, 1))
                damaged(at - 8, fmt::format("field {} is larger than the file", quote(name)));
            size *= f.shape.back();
        }
        if (f.offset > m_bytes.size() || size * Widths[f.type] > m_bytes.size() - f.offset)
            damaged(f.entry,
                    fmt::format("field {} ({}) from byte {} on goes beyond the end, at {}",
                                quote(name), shape_text(f.shape), f.offset, m_bytes.size()));
        m_fields[name] = std::move(f);
    }
}

TensorFile::Tensor TensorFile::get(const std::string &name,
                                   const std::vector<size_t> &shape) const {
    auto it = m_fields.find(name);
    if (it == m_fields.end()) {
        std::string all;
        for (auto &[n, f] : m_fields)
            all += (all.empty() ? "" : ", ") + n;
        fail("{}: there is no field \"{}\", but {}", m_path.string(), name,
             all.empty() ? "none at all" : all);
    }
    const Field &f = it->second;
    bool fits = f.shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
        fits = shape[i] ? f.shape[i] == shape[i] : f.shape[i] > 0;
    if (!fits)
        complain(name, fmt::format("its shape is {} in place of {}", shape_text(f.shape),
                                   shape_text(shape)));
    Tensor t;
    t.shape = f.shape;
    size_t n = 1, width = Widths[f.type];
    for (size_t s : f.shape)
        n *= s;
    t.values.reserve(n);
    for (size_t i = 0; i < n; ++i)
        t.values.push_back(number_at(m_bytes.data() + f.offset + i * width, f.type));
    return t;
}

std::vector<double> TensorFile::axis(const std::string &name) const {
    std::vector<double> v = get(name, { 0 }).values;
    for (size_t i = 0; i < v.size(); ++i)
        if (!std::isfinite(v[i]) || (i > 0 && !(v[i] > v[i - 1])))
            complain(name, fmt::format("number {} is {}; they must increase", i, v[i]));
    return v;
}

void TensorFile::complain(const std::string &name, const std::string &what) const {
    const Field &f = m_fields.at(name);
    fail("{}: byte {}: field \"{}\": {}", m_path.string(), f.offset, name, what);
}

} // namespace umbel
