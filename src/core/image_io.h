// core/image_io.h: image files. Which formats there are is a table in core/image_io.cpp.
#pragma once
#include "core/image.h"
#include "core/limits.h"
#include <filesystem>
#include <optional>

namespace umbel {

struct ImageReadOptions {
    size_t max_side = 1 << 20;                    // pixels
    size_t max_bytes = read_limits().image_bytes; // of decoded pixels
    std::optional<bool> srgb = std::nullopt;      // overrules what the file says, or implies
};

struct ImageWriteOptions {
    /// Stored component type; by default the image's own where the format has it, else the nearest.
    std::optional<Component> component = std::nullopt;
    int quality = 95;                // JPEG, 1 to 100
    std::string compression = "zip"; // EXR: none, rle, zips, zip, piz, pxr24, b44, b44a, dwaa, dwab
    size_t tile = 0;                 // EXR: side of tiles; 0: scanlines
};

/// Reads a file of any known format, which its content decides. Damaged, foreign or too large: UserError.
Image read_image(const std::filesystem::path &path, const ImageReadOptions &options = {});
/// The same from memory; messages call it `name`, whose extension settles formats without a signature.
Image read_image(const void *data, size_t size, const std::string &name,
                 const ImageReadOptions &options = {});

/// Writes a file; its extension decides the format. All or nothing: a temporary file is renamed at the end.
/// Pictures are converted to what the format can hold: colours to RGB, floats to sRGB for 8 and 16 bits.
void write_image(const std::filesystem::path &path, const Image &image,
                 const ImageWriteOptions &options = {});
/// The bytes of such a file; `extension` is "exr", "png" and so on.
std::string encode_image(std::string_view extension, const Image &image,
                         const ImageWriteOptions &options = {});
/// Extensions that can be written, and all formats that can be read.
std::vector<std::string> image_extensions();
/// The extension of a file's name in lower case, without its dot.
std::string extension_of(const std::filesystem::path &path);
/// UserError, with the formats that there are, unless this is the extension of one.
void check_extension(const std::filesystem::path &path);
/// `path` if it has this extension, such as ".exr"; with it behind it if not. UserError where it has that of another image format.
std::filesystem::path with_only_extension(const std::filesystem::path &path,
                                          std::string_view extension);
/// Whether an extension stands for an image format, be it one that cannot be written here.
bool names_image_format(std::string_view extension);
/// The format of a file's content, such as "EXR"; empty where that is no image.
std::string image_format(const std::filesystem::path &path);

} // namespace umbel
