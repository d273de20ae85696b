// multifilm: several films that are fed by one render, each of which writes a file.
//
// The films inside say which channels are written in which format; size, window and filter are those of the multifilm. Files
// that would have the same name are numbered. Without films inside, each layer of the image is a file of its own: the
// colours NAME.exr, and the channels of an integrator that begin with a name and a dot NAME_layer.exr.
#include "core/host_array.h"
#include "core/image_io.h"
#include "render/colour_film.h"
#include <algorithm>
#include <set>

namespace umbel {

class MultiFilm final : public ColourFilm {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<film type='hdrfilm'><string name='pixel_format' value='xyza'/></film><film "
                  "type='ldrfilm'/>");
        Film::declare(p);
        declare_pixels(p, "rgb", { "luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza" });
        declare_component(p);
        p.choice("file_format", m_format, "openexr", { "openexr", "exr", "rgbe", "pfm" })
            .doc("Without films inside: format of the files");
        p.objects("film", m_films).doc("Those that write the image");
    }
    void configure() override {
        for (const Ref<Film> &f : m_films)
            if (f->strip_rows() > 0 || f->splats() || !f->image_names({ "R", "G", "B" }).size())
                f->complain("cannot be part of a multifilm: it collects images in its own way");
    }

    bool has_alpha() const override {
        return m_films.empty() ? ColourFilm::has_alpha()
                               : std::any_of(m_films.begin(), m_films.end(),
                                             [](const Ref<Film> &f) { return f->has_alpha(); });
    }
    std::vector<std::string> image_names(const std::vector<std::string> &collected) const override {
        return m_films.empty() ? ColourFilm::image_names(collected) : collected;
    }

    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return m_films.empty() ? file_of(stem(path), "") : files(path)[0];
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        if (m_films.empty())
            return write_layers(stem(path), image);
        std::vector<std::filesystem::path> names = files(path);
        for (size_t i = 0; i < m_films.size(); ++i)
            m_films[i]->write(names[i], developed(*m_films[i], image));
        return names[0];
    }

private:
    std::vector<Float> develop_pixel(std::vector<Float> means) const override {
        return m_films.empty() ? ColourFilm::develop_pixel(std::move(means)) : means;
    }

    /// Without the extension of an image, if it has one.
    static std::filesystem::path stem(const std::filesystem::path &path) {
        if (!names_image_format(extension_of(path)))
            return path;
        check_extension(path);
        return std::filesystem::path(path).replace_extension();
    }
    std::filesystem::path file_of(const std::filesystem::path &stem,
                                  const std::string &layer) const {
        return stem.string() + (layer.empty() ? "" : "_" + layer) +
               (m_format == "rgbe"  ? ".hdr"
                : m_format == "pfm" ? ".pfm"
                                    : ".exr");
    }
    std::filesystem::path write_layers(const std::filesystem::path &stem,
                                       const Image &image) const {
        ImageWriteOptions options;
        if (file_of(stem, "").extension() == ".exr")
            options.component = component();
        for (const std::string &layer : layers(image))
            write_image(file_of(stem, layer), select_layer(image, layer), options);
        return file_of(stem, "");
    }

    std::vector<std::filesystem::path> files(const std::filesystem::path &path) const {
        std::vector<std::filesystem::path> out;
        std::set<std::filesystem::path> taken;
        for (size_t i = 0; i < m_films.size(); ++i) {
            std::filesystem::path file = m_films[i]->file_name(stem(path));
            if (!taken.insert(file).second) {
                file = m_films[i]->file_name(fmt::format("{}_{}", stem(path).string(), i + 1));
                taken.insert(file);
            }
            out.push_back(file);
        }
        return out;
    }
    /// As a film makes it of the means that were collected here.
    static Image developed(const Film &film, const Image &collected) {
        Image means = collected;
        if (!film.has_alpha() && umbel::has_alpha(collected)) {
            std::vector<std::string> names;
            for (const std::string &name : collected.channels())
                if (name != "A")
                    names.push_back(name);
            means = select_channels(collected, names);
        }
        size_t n = means.channel_count();
        std::vector<double> numbers(means.data<float>(), means.data<float>() + means.pixels() * n);
        std::vector<double> values = read_floats(film.develop(float_array(numbers), uint32_t(n)));
        Image out(means.width(), means.height(), film.image_names(means.channels()));
        std::copy(values.begin(), values.end(), out.data<float>());
        out.metadata = collected.metadata;
        return out;
    }

    std::string m_format;
    std::vector<Ref<Film>> m_films;
};

UMBEL_PLUGIN(Film, MultiFilm, "multifilm")
} // namespace umbel
