// mfilm: numbers for other programs: a matrix as text for MATLAB or Mathematica, or a NumPy array.
//
// One channel is a matrix of rows and columns, several are one each: data(:, :, k) in MATLAB, the innermost lists in
// Mathematica, the last axis in NumPy.
#include "core/file_text.h"
#include "core/image_io.h"
#include "render/colour_film.h"
#include <cctype>

namespace umbel {

class MFilm final : public ColourFilm {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='width' value='5'/><integer name='height' value='4'/><string "
                  "name='pixel_format' value='rgba'/><string name='file_format' value='numpy'/>");
        declare_film(p, 1, 1, "box");
        declare_pixels(p, "luminance",
                       { "luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza" });
        p.choice("file_format", m_format, "matlab", { "matlab", "mathematica", "numpy" })
            .doc("What the file is for");
        p.integer("digits", m_digits, 4, 1, 17).doc("Significant digits of numbers in text");
        p.string("variable", m_variable, "data").doc("What the matrix is called in text");
    }
    void configure() override {
        auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
        auto is_part = [](unsigned char c) { return std::isalnum(c) != 0; };
        bool good = !m_variable.empty() && is_letter((unsigned char)m_variable[0]);
        for (char c :
             m_variable) // names have no underscores in Mathematica, where that is a pattern
            good &= is_part((unsigned char)c) || (c == '_' && m_format != "mathematica");
        if (!good)
            complain("variable is {}; names are letters and digits, a letter first",
                     quote(m_variable));
    }

    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return with_only_extension(path, m_format == "numpy" ? ".npy" : ".m");
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        std::filesystem::path file = file_name(path);
        write_file(file, m_format == "numpy"    ? numpy(image)
                         : m_format == "matlab" ? matlab(image)
                                                : mathematica(image));
        return file;
    }

private:
    std::string matlab(const Image &image) const {
        std::string out;
        size_t n = image.channel_count();
        for (size_t c = 0; c < n; ++c) {
            out +=
                n == 1 ? m_variable + " = [" : fmt::format("{}(:, :, {}) = [", m_variable, c + 1);
            for (size_t y = 0; y < image.height(); ++y) {
                out += y == 0 ? "" : "; ";
                for (size_t x = 0; x < image.width(); ++x)
                    out += (x == 0 ? "" : ", ") + number(image.get(x, y, c), "NaN", "Inf");
            }
            out += "];\n";
        }
        return out;
    }
    std::string mathematica(const Image &image) const {
        std::string out = m_variable + " = {";
        size_t n = image.channel_count();
        for (size_t y = 0; y < image.height(); ++y) {
            out += y == 0 ? "{" : ",\n    {";
            for (size_t x = 0; x < image.width(); ++x) {
                out += x == 0 ? "" : ", ";
                out += n == 1 ? "" : "{";
                for (size_t c = 0; c < n; ++c) {
                    std::string v = number(image.get(x, y, c), "Indeterminate", "Infinity");
                    if (size_t e = v.find('e'); e != std::string::npos)
                        v.replace(e, 1, "*^");
                    out += (c == 0 ? "" : ", ") + v;
                }
                out += n == 1 ? "" : "}";
            }
            out += "}";
        }
        return out + "};\n";
    }
    // Version 1.0: magic, the length of the header, the header padded to a multiple of 64 bytes, the numbers.
    static std::string numpy(const Image &picture) {
        Image image = convert(picture, Component::F32, false);
        size_t n = image.channel_count();
        std::string shape = n == 1 ? fmt::format("({}, {})", image.height(), image.width())
                                   : fmt::format("({}, {}, {})", image.height(), image.width(), n);
        std::string header =
            fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape);
        header.resize((header.size() + 1 + 10 + 63) / 64 * 64 - 10 - 1, ' ');
        header += '\n';
        std::string out("\x93NUMPY\x01\x00", 8);
        out += char(header.size() & 0xff);
        out += char(header.size() >> 8);
        out += header;
        return out.append(reinterpret_cast<const char *>(image.bytes()), image.byte_count());
    }
    std::string number(double v, const char *nan, const char *infinity) const {
        if (std::isnan(v))
            return nan;
        if (std::isinf(v))
            return (v < 0 ? "-" : "") + std::string(infinity);
        return fmt::format("{:.{}g}", v, m_digits);
    }

    std::string m_format, m_variable = "data";
    int m_digits = 4;
};

UMBEL_PLUGIN(Film, MFilm, "mfilm")
} // namespace umbel
