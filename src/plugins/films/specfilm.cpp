// specfilm: an image of spectral bands: each channel is the integral, over wavelengths in nm, of radiance times the sensitivity
// of a sensor.
//
// Spectra inside the film are these sensitivities; their names are those of the channels. Wavelengths are drawn in proportion
// to the sum of all of them, so bands may lie outside of visible light.
#include "core/host_array.h"
#include "core/image_io.h"
#include "render/film.h"
#include "render/spectral_samples.h"
#include "render/texture.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class SpecFilm final : public Film {
public:
    void declare(Params &p) override {
        p.example("<spectrum name='blue' value='400:0, 450:1, 500:0'/><spectrum name='wide' "
                  "value='420:.5, 700:1'/>");
        Film::declare(p);
        p.choice("component_format", m_component, "float16", { "float16", "float32", "uint32" })
            .doc("How OpenEXR files store a channel");
        p.boolean("sample_border", m_sample_border, false)
            .doc("Pixels at the border see what lies beyond it; if not, the filter ends there");
        p.boolean("compensate", m_compensate, false)
            .doc("Compensate for rounding where groups of samples are added up; twice the memory");
        if (p.loading())
            for (const Property &q : p.properties()->all())
                if (std::holds_alternative<SpectrumData>(q.value) ||
                    (q.object() && (*q.object())->kind == Texture::Kind))
                    m_bands.push_back({ q.name, nullptr });
        for (Band &b : m_bands)
            p.unbounded_texture(b.name.c_str(), b.response).doc("The sensitivity of a band");
    }
    void configure() override {
        if (variant().colour != Colour::Spectral)
            complain("bands need wavelengths: use a spectral variant, not {}", variant().name);
        if (m_bands.empty())
            complain("has no bands; give it at least one spectrum");
        double low = 1e9, high = 0, step = 5;
        for (const Band &b : m_bands) {
            if (b.response->is_spatially_varying())
                b.response->complain("varies over a surface; the sensitivity of a band must not");
            auto range = b.response->wavelength_range();
            low = std::min(low, range[0]);
            high = std::max(high, range[1]);
            double fine = b.response->spectral_resolution();
            step = fine > 0 ? std::clamp(fine, 0.1, step) : step;
        }
        tabulate(low, high, step);
    }
    void child_changed() override { configure(); }

    bool sample_border() const override { return m_sample_border; }
    bool compensates() const override { return m_compensate; }
    Ref<Texture> response() const override { return m_response; }

    std::vector<std::string> channel_names(const std::vector<std::string> &further) const override {
        std::vector<std::string> names;
        for (const Band &b : m_bands)
            names.push_back(b.name);
        names.insert(names.end(), further.begin(), further.end());
        return names;
    }
    std::vector<Float> channels(const FilmSample &sample) const override {
        SurfaceInteraction si = interaction_anywhere(sample.wavelengths);
        Spectrum L = unpolarized(sample.L);
        std::vector<Float> out;
        for (const Band &b : m_bands)
            out.push_back(mean(L * b.response->eval(si, Mask(true))));
        out.insert(out.end(), sample.further.begin(), sample.further.end());
        return out;
    }
    Float brightness(const std::vector<Float> &channels) const override {
        Float sum(0);
        for (size_t i = 0; i < m_bands.size(); ++i)
            sum += channels[i];
        return sum;
    }

    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return with_only_extension(path, ".exr");
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        std::filesystem::path file = file_name(path);
        ImageWriteOptions options;
        options.component = m_component == "float32"  ? Component::F32
                            : m_component == "uint32" ? Component::U32
                                                      : Component::F16;
        write_image(file, image, options);
        return file;
    }

private:
    struct Band {
        std::string name;
        Ref<Texture> response;
    };
    /// The sum of all sensitivities, from which wavelengths are drawn.
    void tabulate(double low, double high, double step) {
        auto n = size_t(std::ceil((high - low) / step)) + 1;
        std::vector<double> nodes(n), sum(n, 0.0);
        for (size_t i = 0; i < n; ++i)
            nodes[i] = std::min(low + step * double(i), high);
        Float w = float_array(nodes);
        for (const Band &b : m_bands) {
            Wavelengths same(std::vector<Float>{ w, w, w, w });
            Float v = b.response->eval(interaction_anywhere(same), true)[0];
            std::vector<double> values = read_floats(v + w * 0);
            for (size_t i = 0; i < n; ++i) {
                if (!(values[i] >= 0))
                    complain("band {} is {} at {} nm; sensitivities are not negative",
                             quote(b.name), values[i], nodes[i]);
                sum[i] += values[i];
            }
        }
        if (!(*std::max_element(sum.begin(), sum.end()) > 0))
            complain("its bands are zero everywhere");
        SpectrumData data;
        data.kind = SpectrumData::Kind::Tabulated;
        data.wavelengths = std::move(nodes);
        data.values = std::move(sum);
        Properties p(Texture::Kind, "irregular");
        p.set("value", data);
        m_response = make_object<Texture>(std::move(p));
        m_response->pdf_spectrum(interaction_anywhere(Spectrum(std::vector<Float>(4, Float(550)))),
                                 true); // reads tables, which launches must not
    }

    std::string m_component;
    bool m_sample_border = false, m_compensate = false;
    std::vector<Band> m_bands;
    Ref<Texture> m_response;
};

UMBEL_PLUGIN(Film, SpecFilm, "specfilm")
} // namespace umbel
