// render/ply_file.h: elements of PLY files, as text or binary of either byte order.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

/// Reads a file that is in memory, from its header on, one element after the other.
class PlyFile {
protected:
    enum class Type { I8, U8, I16, U16, I32, U32, F32, F64 };
    struct Property {
        std::string name;
        Type type;
        bool is_list = false;
        Type count_type = Type::U8;
    };
    struct Element {
        std::string name;
        uint64_t count = 0;
        std::vector<Property> properties;
    };
    /// Where a property goes: list and place in it.
    struct Target {
        std::vector<double> *list = nullptr;
        size_t stride = 0, offset = 0;
        bool is_finite = false; // else an error
        explicit operator bool() const { return list != nullptr; }
    };

    /// Reads the header. The bytes must live while anything is read.
    void open(const std::filesystem::path &path, std::string_view bytes);
    /// UserError at a place in the file: as a line of text, or as an offset.
    [[noreturn]] void bad(std::string_view what, const char *at = nullptr) const;

    double number(Type type);
    uint64_t list_length(const Property &p);
    void skip(const Property &p);
    void skip(const Element &e);
    /// All of an element: numbers go to their targets, the rest is passed over.
    void read_element(const Element &e, const std::vector<Target> &targets);

    /// Calls f with a zero of a type.
    template <class F> static auto with_type(Type type, F &&f) {
        switch (type) {
        case Type::I8: return f(int8_t());
        case Type::U8: return f(uint8_t());
        case Type::I16: return f(int16_t());
        case Type::U16: return f(uint16_t());
        case Type::I32: return f(int32_t());
        case Type::U32: return f(uint32_t());
        case Type::F32: return f(float());
        case Type::F64: break;
        }
        return f(double());
    }
    static size_t size_of(Type type) {
        return with_type(type, [](auto v) { return sizeof v; });
    }
    template <class T> T load(const char *from) const {
        char bytes[sizeof(T)];
        std::memcpy(bytes, from, sizeof(T));
        if (m_swap)
            std::reverse(bytes, bytes + sizeof(T));
        return std::bit_cast<T>(bytes);
    }

    std::vector<Element> m_elements;
    bool m_ascii = true;
    const char *m_begin = nullptr, *m_at = nullptr, *m_end = nullptr;

private:
    std::string_view line();
    Type type_of(std::string_view name) const;
    void read_header();
    void add_element(std::string_view name, uint64_t count);
    void read_format(std::string_view f);
    uint64_t integer(std::string_view w) const;
    bool read_records(const Element &e, const std::vector<Target> &targets);
    [[noreturn]] void bad_number(uint64_t i, const char *at) const;

    std::filesystem::path m_path;
    bool m_swap = false;
    bool m_is_text = true; // where it is being read
};

} // namespace umbel
