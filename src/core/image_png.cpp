// core/image_png.cpp: PNG of 8 and 16 bits through libpng; palettes and fewer bits are expanded.
//
// libpng leaves by longjmp when something is wrong, so the functions that call it own nothing: what they
// fill belongs to their callers.
#include "core/image_codec.h"
#include <algorithm>
#include <csetjmp>
#include <png.h>

namespace umbel {

namespace {

struct Session {
    ImageInput *in = nullptr;
    std::string *out = nullptr;
    png_structp png = nullptr;
    png_infop info = nullptr;
    char message[256] = {};
    bool writing = false;

    ~Session() {
        if (writing)
            png_destroy_write_struct(&png, &info);
        else
            png_destroy_read_struct(&png, &info, nullptr);
    }
};

void on_error(png_structp png, png_const_charp message) {
    auto *s = static_cast<Session *>(png_get_error_ptr(png));
    std::snprintf(s->message, sizeof s->message, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t n) {
    ImageInput &in = *static_cast<Session *>(png_get_io_ptr(png))->in;
    if (n > in.left())
        png_error(png, "the file ends too early"); // no exception: there are C frames below
    std::memcpy(out, in.take(n), n);
}
void on_write(png_structp png, png_bytep data, size_t n) {
    static_cast<Session *>(png_get_io_ptr(png))->out->append(reinterpret_cast<char *>(data), n);
}
void on_flush(png_structp) {}

bool start_reading(Session &s, const ImageReadOptions &o) {
    if (setjmp(png_jmpbuf(s.png)))
        return false;
    png_set_read_fn(s.png, &s, on_read);
    uint32_t side = uint32_t(std::min<size_t>(o.max_side, PNG_UINT_31_MAX));
    png_set_user_limits(s.png, side, side);
    png_set_chunk_malloc_max(s.png, 16 << 20); // text, profiles
    png_read_info(s.png, s.info);
    png_set_expand(s.png); // palettes, fewer than 8 bits, transparent colours
    if (png_get_bit_depth(s.png, s.info) == 16)
        png_set_swap(s.png);
    png_set_interlace_handling(s.png);
    png_read_update_info(s.png, s.info);
    return true;
}

bool read_rows(Session &s, png_bytepp rows) {
    if (setjmp(png_jmpbuf(s.png)))
        return false;
    png_read_image(s.png, rows);
    png_read_end(s.png, s.info);
    return true;
}

/// Files without a statement are taken for sRGB; only a gamma of 1 makes one linear.
bool is_srgb(const Session &s) {
    double gamma = 0;
    return !(png_get_gAMA(s.png, s.info, &gamma) && gamma > 0.99 && gamma < 1.01);
}

bool write_all(Session &s, const Image &image, int colour_type, png_bytepp rows, png_textp texts,
               int text_count) {
    if (setjmp(png_jmpbuf(s.png)))
        return false;
    png_set_write_fn(s.png, &s, on_write, on_flush);
    png_set_compression_level(s.png, 5);
    bool deep = image.component() == Component::U16;
    png_set_IHDR(s.png, s.info, uint32_t(image.width()), uint32_t(image.height()), deep ? 16 : 8,
                 colour_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (image.srgb())
        png_set_sRGB_gAMA_and_cHRM(s.png, s.info, PNG_sRGB_INTENT_PERCEPTUAL);
    else
        png_set_gAMA(s.png, s.info, 1.0);
    if (text_count > 0)
        png_set_text(s.png, s.info, texts, text_count);
    png_write_info(s.png, s.info);
    if (deep)
        png_set_swap(s.png);
    png_write_image(s.png, rows);
    png_write_end(s.png, s.info);
    return true;
}

} // namespace

Image read_png(ImageInput &in) {
    Session s;
    s.in = &in;
    s.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    s.info = s.png ? png_create_info_struct(s.png) : nullptr;
    if (!s.info)
        throw DeviceError("PNG: no memory");
    if (!start_reading(s, in.options()))
        in.error("{}; get a complete copy, or one of a smaller size", s.message);

    Component c = png_get_bit_depth(s.png, s.info) == 16 ? Component::U16 : Component::U8;
    Image image =
        in.allocate(png_get_image_width(s.png, s.info), png_get_image_height(s.png, s.info),
                    channel_names(png_get_channels(s.png, s.info)), c, is_srgb(s),
                    4 * 8 * 1032.0); // deflate's best, and palettes of one bit
    check_eq(png_get_rowbytes(s.png, s.info), image.row_bytes());
    std::vector<png_bytep> rows(image.height());
    for (size_t y = 0; y < rows.size(); ++y)
        rows[y] = image.bytes() + y * image.row_bytes();
    if (!read_rows(s, rows.data()))
        in.error("{}; get a complete copy", s.message);

    png_textp texts = nullptr;
    int count = png_get_text(s.png, s.info, &texts, nullptr);
    for (int i = 0; i < count; ++i)
        image.metadata[texts[i].key] = std::string(texts[i].text ? texts[i].text : "");
    return image;
}

std::string write_png(const Image &picture, const ImageWriteOptions &options) {
    Component c = options.component.value_or(picture.component());
    c = c == Component::U8 || (is_float(c) && !options.component) ? Component::U8 : Component::U16;
    // Integers keep their encoding, linear or not; floats are displayed
    bool srgb = is_float(picture.component()) || picture.srgb();
    Image image = prepare(picture, "PNG", c, srgb, true, true);

    std::vector<png_bytep> rows(image.height());
    for (size_t y = 0; y < rows.size(); ++y)
        rows[y] = image.bytes() + y * image.row_bytes();
    std::vector<png_text> texts;
    for (auto &[key, value] : image.metadata)
        if (auto *text = std::get_if<std::string>(&value);
            text && !key.empty() && key.size() < 80) {
            png_text t{};
            t.compression = PNG_TEXT_COMPRESSION_NONE;
            t.key = const_cast<char *>(key.c_str());
            t.text = const_cast<char *>(text->c_str());
            texts.push_back(t);
        }
    static const int types[] = { PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA };
    std::string out;
    Session s;
    s.writing = true;
    s.out = &out;
    s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    s.info = s.png ? png_create_info_struct(s.png) : nullptr;
    if (!s.info)
        throw DeviceError("PNG: no memory");
    if (!write_all(s, image, types[image.channel_count() - 1], rows.data(), texts.data(),
                   int(texts.size())))
        fail("PNG: {}", s.message);
    return out;
}

} // namespace umbel
