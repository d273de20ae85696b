// core/tensor_file.h: files of named arrays, the format of measured materials (.bsdf, .pbsdf).
//
//     "tensor_file\0", version (2 bytes: 1, 0), number of fields (u32), then for each field
//     length of its name (u16), name, number of dimensions (u16), type (u8), offset of its numbers (u64), shape (u64 each)
//
// All numbers are little-endian; the last dimension varies fastest.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace umbel {

class TensorFile {
public:
    /// Reads all of it. UserError for a damaged file, with the byte at which that is seen.
    explicit TensorFile(const std::filesystem::path &path);

    struct Tensor {
        std::vector<size_t> shape;
        std::vector<double> values; // whatever their type was

        size_t size() const { return values.size(); }
    };
    /// An entry of the table of contents.
    struct Field {
        std::vector<size_t> shape;
        size_t type, offset, entry; // the last: where the table has it
    };
    const std::map<std::string, Field> &fields() const { return m_fields; }
    bool has(const std::string &name) const { return m_fields.count(name) > 0; }
    /// UserError where there is none, or where its shape is another one; 0 stands for any size but that.
    Tensor get(const std::string &name, const std::vector<size_t> &shape) const;
    /// A single dimension of increasing numbers.
    std::vector<double> axis(const std::string &name) const;
    /// UserError about a field.
    [[noreturn]] void complain(const std::string &name, const std::string &what) const;

private:
    std::filesystem::path m_path;
    std::string m_bytes;
    std::map<std::string, Field> m_fields;
};

} // namespace umbel
