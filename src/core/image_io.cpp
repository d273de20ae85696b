// core/image_io.cpp: the table of formats, limits, and files that appear whole or not at all.
#include "core/image_io.h"
#include "core/file_text.h"
#include "core/image_codec.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace umbel {

namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const uint8_t>;

bool starts(Bytes b, std::string_view magic) {
    return b.size() >= magic.size() && std::memcmp(b.data(), magic.data(), magic.size()) == 0;
}

/// TGA has no signature: its footer, or an extension and a header that makes sense.
bool is_tga(Bytes b, std::string_view extension) {
    if (b.size() >= 26 && std::memcmp(b.data() + b.size() - 18, "TRUEVISION-XFILE.", 17) == 0)
        return true;
    return extension == "tga";
}

struct Format {
    const char *name;
    std::vector<std::string_view> extensions; // the first is the one to recommend
    bool (*matches)(Bytes, std::string_view extension);
    Image (*read)(ImageInput &);
    std::string (*write)(const Image &, const ImageWriteOptions &);
};

using Ext = std::string_view;
const std::vector<Format> &formats() {
    static const std::vector<Format> all = {
        { "EXR",
          { "exr" },
          [](Bytes b, Ext) { return starts(b, "\x76\x2f\x31\x01"); },
          read_exr,
          write_exr },
        { "PNG",
          { "png" },
          [](Bytes b, Ext) { return starts(b, "\x89PNG\r\n\x1a\n"); },
          read_png,
          write_png },
        { "JPEG",
          { "jpg", "jpeg" },
          [](Bytes b, Ext) { return starts(b, "\xff\xd8\xff"); },
          read_jpeg,
          write_jpeg },
        { "PFM",
          { "pfm" },
          [](Bytes b, Ext) { return starts(b, "PF") || starts(b, "Pf"); },
          read_pfm,
          write_pfm },
        { "HDR",
          { "hdr", "rgbe", "pic" },
          [](Bytes b, Ext) { return starts(b, "#?"); },
          read_hdr,
          write_hdr },
        { "PPM",
          { "ppm", "pgm" },
          [](Bytes b, Ext) { return b.size() > 2 && b[0] == 'P' && b[1] >= '1' && b[1] <= '6'; },
          read_ppm,
          write_ppm },
        { "BMP", { "bmp" }, [](Bytes b, Ext) { return starts(b, "BM"); }, read_bmp, write_bmp },
        { "TGA", { "tga" }, is_tga, read_tga, write_tga },
    };
    return all;
}

const Format &format_for(std::string_view extension, const std::string &where) {
    std::string known;
    for (const Format &f : formats()) {
        if (std::find(f.extensions.begin(), f.extensions.end(), extension) != f.extensions.end())
            return f;
        known += fmt::format("{}.{}", known.empty() ? "" : ", ", f.extensions[0]);
    }
    fail("{}: no image format has the extension \"{}\"; use one of {}", where, extension, known);
}

} // namespace

std::string ImageInput::line(size_t longest) {
    const uint8_t *begin = m_bytes.data() + m_at, *end = m_bytes.data() + size();
    const uint8_t *stop = std::find(begin, end, '\n');
    if (stop == end)
        truncated();
    if (size_t(stop - begin) > longest)
        error("a header line of {} bytes; the file is damaged", stop - begin);
    m_at += size_t(stop - begin) + 1;
    return std::string(begin, stop);
}

std::string ImageInput::word() {
    auto space = [](uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    uint8_t c = u8();
    while (space(c) || c == '#') {
        if (c == '#')
            line();
        c = u8();
    }
    std::string out;
    for (;; c = u8()) {
        if (space(c))
            return out;
        out += char(c);
        if (out.size() > 64)
            error("a header word of more than 64 letters; the file is damaged");
        if (left() == 0) // the last number of a text file may lack a newline
            return out;
    }
}

Image ImageInput::allocate(uint64_t width, uint64_t height, std::vector<std::string> channels,
                           Component c, bool srgb, double ratio) const {
    if (width == 0 || height == 0)
        error("an image of {} x {} pixels; the file is damaged", width, height);
    if (width > m_options.max_side || height > m_options.max_side)
        error("{} x {} pixels; sides of up to {} are allowed: scale it down", width, height,
              m_options.max_side);
    double need = double(width) * double(height) * double(channels.size() * bytes(c));
    if (need > double(m_options.max_bytes))
        error(
            "{} x {} pixels of {} channels take {}; up to {} are allowed: scale it down, or raise "
            "the limit with --max-image or UMBEL_MAX_IMAGE",
            width, height, channels.size(), format_bytes(need),
            format_bytes(double(m_options.max_bytes)));
    if (need > ratio * double(size()) + 65536)
        error("{} bytes cannot hold {} x {} pixels; get a complete copy", size(), width, height);
    ask_for_memory(need, fmt::format("{}: {}: {} x {} pixels", m_where, m_format, width, height));
    return Image(size_t(width), size_t(height), std::move(channels), c,
                 m_options.srgb.value_or(srgb));
}

std::vector<std::string> channel_names(size_t count) {
    static const char *const sets[] = { "Y", "YA", "RGB", "RGBA" };
    check(count >= 1 && count <= 4);
    std::vector<std::string> out;
    for (const char *c = sets[count - 1]; *c; ++c)
        out.emplace_back(1, *c);
    return out;
}

Image prepare(const Image &image, const char *format, Component component, bool srgb, bool alpha,
              bool grey) {
    if (image.pixels() == 0)
        fail("{}: an image of {} x {} pixels cannot be written", format, image.width(),
             image.height());
    bool y = grey && colour_model(image) == ColourModel::Y;
    Image out = to_model(image, y ? ColourModel::Y : ColourModel::Rgb, alpha && has_alpha(image));
    return convert(out, component, srgb);
}

Image read_image(const void *data, size_t size, const std::string &name,
                 const ImageReadOptions &options) {
    Bytes bytes(static_cast<const uint8_t *>(data), size);
    std::string extension = extension_of(name), known;
    for (const Format &f : formats()) {
        if (f.matches(bytes, extension)) {
            ImageInput in(bytes, name, f.name, options);
            return f.read(in);
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
    }
    if (size == 0)
        fail("{}: the file is empty; get a complete copy", name);
    fail("{}: not an image of a known format; convert it to one of {}", name, known);
}

Image read_image(const fs::path &path, const ImageReadOptions &options) {
    std::string name = path.string();
    std::error_code ec;
    if (fs::is_directory(path, ec))
        fail("{}: this is a folder; name an image file", name);
    FileBytes file(path);
    std::string_view bytes = file.view();
    // Encoded files are smaller than their pixels, save for tiny ones and text
    if (bytes.size() > options.max_bytes)
        fail("{}: a file of {}; up to {} are allowed: scale it down, or raise the limit with "
             "--max-image or UMBEL_MAX_IMAGE",
             name, format_bytes(double(bytes.size())), format_bytes(double(options.max_bytes)));
    return read_image(bytes.data(), bytes.size(), name, options);
}

std::string encode_image(std::string_view extension, const Image &image,
                         const ImageWriteOptions &options) {
    return format_for(extension, "encode_image").write(image, options);
}

void write_image(const fs::path &path, const Image &image, const ImageWriteOptions &options) {
    std::string name = path.string();
    const Format &format = format_for(extension_of(name), name);
    std::string bytes;
    try {
        bytes = format.write(image, options);
    } catch (const UserError &e) {
        fail("{}: {}", name, e.what());
    }
    write_file(path, bytes);
}

std::vector<std::string> image_extensions() {
    std::vector<std::string> out;
    for (const Format &f : formats())
        out.insert(out.end(), f.extensions.begin(), f.extensions.end());
    return out;
}

std::string extension_of(const fs::path &path) {
    std::string e = path.extension().string();
    std::transform(e.begin(), e.end(), e.begin(), [](unsigned char c) { return std::tolower(c); });
    return e.empty() ? e : e.substr(1);
}

void check_extension(const fs::path &path) { format_for(extension_of(path), path.string()); }

fs::path with_only_extension(const fs::path &path, std::string_view extension) {
    std::string own = extension_of(path);
    if ("." + own == extension)
        return path;
    if (names_image_format(own))
        fail("{}: the film writes {} files and no others; name it so, or take another film",
             path.string(), extension);
    return fs::path(path) += extension;
}

bool names_image_format(std::string_view extension) {
    static constexpr std::string_view Foreign[] = { "avif", "dds", "dpx", "gif",  "heic", "heif",
                                                    "ico",  "jp2", "jxl", "pbm",  "pdf",  "pnm",
                                                    "psd",  "svg", "tif", "tiff", "tx",   "webp" };
    std::vector<std::string> known = image_extensions();
    return std::find(known.begin(), known.end(), extension) != known.end() ||
           std::find(std::begin(Foreign), std::end(Foreign), extension) != std::end(Foreign);
}

std::string image_format(const fs::path &path) {
    FileBytes file(path);
    Bytes bytes(reinterpret_cast<const uint8_t *>(file.view().data()), file.view().size());
    for (const Format &f : formats())
        if (f.matches(bytes, extension_of(path)))
            return f.name;
    return {};
}

} // namespace umbel
