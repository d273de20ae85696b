// core/image_jpeg.cpp: JPEG through libjpeg, 8 bits, grey or RGB.
//
// libjpeg is left by longjmp when something is wrong, so the functions that call it own nothing.
#include "core/image_codec.h"
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <jerror.h>
#include <jpeglib.h>

namespace umbel {

namespace {

struct ErrorState : jpeg_error_mgr {
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void on_error(j_common_ptr c) {
    auto *e = static_cast<ErrorState *>(c->err);
    e->format_message(c, e->message);
    std::longjmp(e->jump, 1);
}

/// A file that ends early would otherwise come out grey from there on; other oddities are forgiven.
void on_message(j_common_ptr c, int level) {
    if (level >= 0)
        return;
    int code = c->err->msg_code;
    if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)
        on_error(c);
}

jpeg_error_mgr *set_up(ErrorState &e) {
    jpeg_std_error(&e);
    e.error_exit = on_error;
    e.emit_message = on_message;
    e.output_message = [](j_common_ptr) {};
    return &e;
}

struct Reader {
    jpeg_decompress_struct jpeg{};
    ErrorState error;
    Reader() { jpeg.err = set_up(error); }
    ~Reader() { jpeg_destroy_decompress(&jpeg); }
};

bool start_reading(Reader &r, const ImageInput &in) {
    if (setjmp(r.error.jump))
        return false;
    jpeg_create_decompress(&r.jpeg);
    jpeg_mem_src(&r.jpeg, in.data(), static_cast<unsigned long>(in.size()));
    jpeg_read_header(&r.jpeg, TRUE);
    r.jpeg.out_color_space = r.jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE
                             : r.jpeg.num_components == 4             ? JCS_CMYK
                                                                      : JCS_RGB;
    jpeg_calc_output_dimensions(&r.jpeg);
    return true;
}

bool read_rows(Reader &r, uint8_t *out, size_t stride) {
    if (setjmp(r.error.jump))
        return false;
    jpeg_start_decompress(&r.jpeg);
    while (r.jpeg.output_scanline < r.jpeg.output_height) {
        JSAMPROW row = out + r.jpeg.output_scanline * stride;
        jpeg_read_scanlines(&r.jpeg, &row, 1);
    }
    jpeg_finish_decompress(&r.jpeg);
    return true;
}

struct Writer {
    jpeg_compress_struct jpeg{};
    ErrorState error;
    unsigned char *buffer = nullptr;
    unsigned long size = 0;
    Writer() { jpeg.err = set_up(error); }
    ~Writer() {
        jpeg_destroy_compress(&jpeg);
        std::free(buffer);
    }
};

bool write_all(Writer &w, const Image &image, int quality) {
    if (setjmp(w.error.jump))
        return false;
    jpeg_create_compress(&w.jpeg);
    jpeg_mem_dest(&w.jpeg, &w.buffer, &w.size);
    w.jpeg.image_width = JDIMENSION(image.width());
    w.jpeg.image_height = JDIMENSION(image.height());
    w.jpeg.input_components = int(image.channel_count());
    w.jpeg.in_color_space = image.channel_count() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&w.jpeg);
    jpeg_set_quality(&w.jpeg, quality, TRUE);
    if (quality >= 90) // colours at full resolution
        w.jpeg.comp_info[0].h_samp_factor = w.jpeg.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&w.jpeg, TRUE);
    while (w.jpeg.next_scanline < w.jpeg.image_height) {
        auto row = const_cast<JSAMPROW>(image.bytes() + w.jpeg.next_scanline * image.row_bytes());
        jpeg_write_scanlines(&w.jpeg, &row, 1);
    }
    jpeg_finish_compress(&w.jpeg);
    return true;
}

} // namespace

Image read_jpeg(ImageInput &in) {
    Reader r;
    if (!start_reading(r, in))
        in.error("{}; get a complete copy", r.error.message);
    if (r.jpeg.out_color_space == JCS_CMYK)
        in.error("CMYK inks have no defined colour; convert it to RGB");
    size_t channels = r.jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
    // A bit can stand for 64 pixels of a component
    Image image = in.allocate(r.jpeg.output_width, r.jpeg.output_height, channel_names(channels),
                              Component::U8, true, 8 * 256 * 3);
    if (!read_rows(r, image.bytes(), image.row_bytes()))
        in.error("{}; get a complete copy", r.error.message);
    return image;
}

std::string write_jpeg(const Image &picture, const ImageWriteOptions &options) {
    if (options.quality < 1 || options.quality > 100)
        fail("JPEG: a quality of {}; it must be 1 to 100", options.quality);
    Image image = prepare(picture, "JPEG", Component::U8, true, false, true);
    Writer w;
    if (!write_all(w, image, options.quality))
        fail("JPEG: {}", w.error.message);
    return std::string(reinterpret_cast<char *>(w.buffer), w.size);
}

} // namespace umbel
