// core/mtl_file.cpp: see core/mtl_file.h.
#include "core/mtl_file.h"
#include "core/file_text.h"
#include "core/load_warnings.h"
#include "jit/error.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace umbel {

namespace {

using Colour = std::array<double, 3>;
double largest(const Colour &c) { return std::max({ c[0], c[1], c[2] }); }

struct Material {
    Colour diffuse{ 0.8, 0.8, 0.8 }, specular{}, filter{ 1, 1, 1 };
    double exponent = 0, index = 1.5, opacity = 1, bump_scale = 1;
    int model = 2;
    std::string diffuse_map, specular_map, opacity_map, bump_map;
};

/// Words of a line, from left to right.
class Words {
public:
    explicit Words(std::string_view line) : m_left(line) {}

    std::string_view next() {
        skip_blanks();
        size_t n = 0;
        while (n < m_left.size() && !is_blank(m_left[n]))
            ++n;
        std::string_view word = m_left.substr(0, n);
        m_left.remove_prefix(n);
        return word;
    }
    std::optional<double> number() {
        std::string_view before = m_left, word = next();
        double v = 0;
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
        if (error == std::errc() && end == word.data() + word.size() && std::abs(v) < 1e30)
            return v;
        m_left = before;
        return {};
    }
    /// One for all channels, or three; `otherwise` where there is none.
    Colour colour(const Colour &otherwise) {
        std::optional<double> r = number();
        if (!r)
            return otherwise;
        double g = number().value_or(*r), b = number().value_or(g);
        return { std::max(*r, 0.0), std::max(g, 0.0), std::max(b, 0.0) };
    }
    /// The rest of the line, which is a name that may have blanks inside.
    std::string rest() {
        skip_blanks();
        std::string_view text = m_left;
        while (!text.empty() && is_blank(text.back()))
            text.remove_suffix(1);
        return std::string(text);
    }
    /// The file of a texture, after its options; `multiplier` is that of bumps.
    std::string file(double &multiplier) {
        for (skip_blanks(); m_left.starts_with('-'); skip_blanks()) {
            std::string_view option = next();
            if (option == "-bm")
                multiplier = number().value_or(multiplier);
            else if (option == "-clamp" || option == "-blendu" || option == "-blendv" ||
                     option == "-cc" || option == "-imfchan" || option == "-type")
                next();
            else
                while (number())
                    continue;
        }
        std::string name = rest();
        std::replace(name.begin(), name.end(), '\\', '/');
        return name;
    }

private:
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    void skip_blanks() {
        while (!m_left.empty() && is_blank(m_left.front()))
            m_left.remove_prefix(1);
    }

    std::string_view m_left;
};

void read_line(std::string_view line, Material &m) {
    Words words(line);
    std::string key(words.next());
    std::transform(key.begin(), key.end(), key.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    double unused;
    if (key == "kd")
        m.diffuse = words.colour(m.diffuse);
    else if (key == "ks")
        m.specular = words.colour(m.specular);
    else if (key == "tf")
        m.filter = words.colour(m.filter);
    else if (key == "ns")
        m.exponent = std::max(words.number().value_or(0), 0.0);
    else if (key == "ni")
        m.index = words.number().value_or(m.index);
    else if (key == "d")
        m.opacity = std::clamp(words.number().value_or(1), 0.0, 1.0);
    else if (key == "tr")
        m.opacity = std::clamp(1 - words.number().value_or(0), 0.0, 1.0);
    else if (key == "illum")
        m.model = int(std::clamp(words.number().value_or(2), 0.0, 10.0));
    else if (key == "map_kd")
        m.diffuse_map = words.file(unused);
    else if (key == "map_ks")
        m.specular_map = words.file(unused);
    else if (key == "map_d")
        m.opacity_map = words.file(unused);
    else if (key == "map_bump" || key == "bump")
        m.bump_map = words.file(m.bump_scale);
}

/// Makes surfaces of what the lines say.
class Surfaces {
public:
    Surfaces(const std::filesystem::path &library, const std::shared_ptr<const FileResolver> &files)
        : m_library(library.string()) {
        auto here = std::make_shared<FileResolver>(files ? *files : FileResolver());
        here->add_folder(library.parent_path());
        m_files = std::move(here);
    }

    PropertiesPtr surface(const Material &m) const {
        bool has_highlight = m.exponent > 0 && largest(m.specular) > 0,
             is_glass = m.model == 4 || m.model == 6 || m.model == 7 || m.model == 9,
             is_mirror = (m.model == 3 || m.model == 5 || m.model == 8) && largest(m.diffuse) == 0;
        if (is_glass) {
            PropertiesPtr p = object("bsdf", "dielectric");
            p->set("int_ior", m.index > 1 ? m.index : 1.5);
            p->set("specular_transmittance", rgb(m.filter));
            return p;
        }
        PropertiesPtr p;
        if (is_mirror) {
            p = object("bsdf", "conductor");
            p->set("material", std::string("none"));
            set_colour(*p, "specular_reflectance", m.specular, m.specular_map);
        } else if (has_highlight && m.model >= 2) {
            p = object("bsdf", "phong");
            set_colour(*p, "diffuse_reflectance", m.diffuse, m.diffuse_map);
            set_colour(*p, "specular_reflectance", m.specular, m.specular_map);
            p->set("exponent", m.exponent);
        } else {
            p = object("bsdf", "diffuse");
            set_colour(*p, "reflectance", m.diffuse, m.diffuse_map);
        }
        if (PropertiesPtr bumps = texture(m.bump_map, true))
            p = around("bumpmap", p, "bumps", bumps, m.bump_scale);
        p = around("twosided", p); // which way triangles are turned is left to chance in such files
        if (PropertiesPtr holes = texture(m.opacity_map, true))
            return around("mask", p, "opacity", holes);
        if (m.opacity < 1) {
            p = around("mask", p);
            p->set("opacity", m.opacity);
        }
        return p;
    }

private:
    PropertiesPtr object(const char *kind, const char *type) const {
        auto p = std::make_shared<Properties>(kind, type);
        p->files = m_files;
        return p;
    }
    PropertiesPtr around(const char *type, PropertiesPtr inner, const char *name = nullptr,
                         PropertiesPtr map = nullptr, double scale = 1) const {
        PropertiesPtr p = object("bsdf", type);
        p->set("bsdf", std::move(inner));
        if (map)
            p->set(name, std::move(map));
        if (scale != 1)
            p->set("scale", scale);
        return p;
    }
    static SpectrumData rgb(Colour c) {
        for (double &v : c)
            v = std::min(v, 1.0);
        return SpectrumData::from_rgb(c);
    }
    /// Null where there is none.
    PropertiesPtr texture(const std::string &name, bool raw) const {
        if (name.empty())
            return nullptr;
        PropertiesPtr p = object("texture", "bitmap");
        try {
            p->set("filename", m_files->resolve(name, m_library).string());
        } catch (const UserError &e) {
            warn_while_loading(fmt::format("{}; it is left out", e.what()));
            return nullptr;
        }
        if (raw)
            p->set("raw", true);
        return p;
    }
    void set_colour(Properties &p, const char *name, const Colour &c,
                    const std::string &map) const {
        if (PropertiesPtr t = texture(map, false))
            p.set(name, std::move(t));
        else
            p.set(name, rgb(c));
    }

    std::string m_library;
    std::shared_ptr<const FileResolver> m_files;
};

} // namespace

std::map<std::string, PropertiesPtr, std::less<>>
read_mtl(const std::filesystem::path &path, const std::shared_ptr<const FileResolver> &files) {
    std::string text = read_text_file(path);
    std::map<std::string, Material> found;
    Material *current = nullptr;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line(text.data() + at, end - at);
        at = end + 1;
        Words words(line);
        std::string_view key = words.next();
        if (key == "newmtl")
            current = &(found[words.rest()] = Material());
        else if (current && !key.starts_with('#'))
            read_line(line, *current);
    }
    Surfaces surfaces(path, files);
    std::map<std::string, PropertiesPtr, std::less<>> out;
    for (auto &[name, material] : found)
        out[name] = surfaces.surface(material);
    return out;
}

} // namespace umbel
