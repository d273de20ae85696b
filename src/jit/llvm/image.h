// jit/llvm/image.h: object code, as bytes to keep and as memory to run.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace umbel::jit::llvm_ir {

/// Changes whenever saved kernels of an earlier version must not be loaded.
constexpr uint32_t ImageFormat = 1;

/// The objects of one kernel, linked to each other and made executable.
class Image {
public:
    virtual ~Image() = default;
    virtual void *entry() const = 0;
    virtual size_t code_bytes() const = 0;
};

/// Throws DeviceError where an object cannot be loaded or a symbol is missing.
std::unique_ptr<Image> link(const std::vector<std::string> &objects, const std::string &entry);

/// Strings in one blob with magic, version, lengths and a checksum.
std::string pack(const std::vector<std::string> &parts);
/// False where the bytes are not exactly what `pack` made.
bool unpack(std::string_view blob, std::vector<std::string> &parts);

} // namespace umbel::jit::llvm_ir
