// render/film.h: what an image is made of: its size, its channels, and how it is written.
//
// A film says which numbers are collected for each pixel and how a sample becomes them; film_buffer.h collects them. Of
// their means the film makes the image that users see.
#pragma once
#include "core/image.h"
#include "core/spectrum.h"
#include "render/filter.h"
#include <filesystem>

namespace umbel {

/// What one sample brings to a film.
struct FilmSample {
    Spectrum L; // times the camera's weight
    Wavelengths wavelengths;
    Float alpha;                // 1 where the ray met anything
    std::vector<Float> further; // the integrator's own channels
};

class ImageStrips; // core/image_strips.h
class Texture;

class Film : public Object {
public:
    static constexpr const char *Kind = "film";

    void declare(Params &p) override;
    void changed(std::span<const std::string> names) override;

    int width() const { return m_width; }
    int height() const { return m_height; }
    struct Crop {
        int x = 0, y = 0, width = 0, height = 0;
    };
    const Crop &crop() const { return m_crop; }
    const Filter &filter() const { return *m_filter; }
    const Ref<Filter> &filter_ref() const { return m_filter; }
    /// Where samples of pixels lie, around the pixel's centre: by column and by row of the whole image.
    const FilterAxis &columns() const { return axis(0, m_width); }
    const FilterAxis &rows() const { return axis(1, m_height); }
    /// Changes the size; the crop window becomes the whole image.
    void set_size(int width, int height);
    void set_crop(const Crop &crop);
    /// UserError where a part does not lie in the image, whatever its numbers are.
    void check_part(const Crop &part) const;

    // ---- what is collected
    /// What it is sensitive to, by wavelength; null: to what the eye sees.
    virtual Ref<Texture> response() const { return nullptr; }
    /// Wavelengths that matter to it, and one over their density.
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const Float &u, const Mask &active) const;
    /// One over that density.
    Spectrum wavelength_weight(const Wavelengths &w, const Mask &active) const;
    /// The channels: colours, alpha, then those that the integrator adds.
    virtual std::vector<std::string> channel_names(const std::vector<std::string> &further) const;
    /// A sample's numbers for them; linear in its light.
    virtual std::vector<Float> channels(const FilmSample &sample) const;
    /// What errors are measured in.
    virtual Float brightness(const std::vector<Float> &channels) const;
    /// Whether there is an alpha channel.
    virtual bool has_alpha() const { return false; }
    /// Whether pixels at the border see what lies beyond it, as the others see all around them; if not, the
    /// filter ends there.
    virtual bool sample_border() const { return false; }
    /// Whether a sample is added to all pixels that the filter reaches from where it is, in place of being drawn from the
    /// filter of one pixel.
    virtual bool splats() const { return false; }
    /// Whether sums over many groups of samples are compensated for rounding.
    virtual bool compensates() const { return false; }

    // ---- what becomes of it
    /// The channels of the image, given those that were collected.
    virtual std::vector<std::string> image_names(const std::vector<std::string> &collected) const {
        return collected;
    }
    /// Their values, from the means of the collected channels: numbers that lie pixel by pixel.
    Float develop(const Float &means, uint32_t channel_count) const;
    /// The file that write() makes of `path`.
    virtual std::filesystem::path file_name(const std::filesystem::path &path) const = 0;
    /// Writes an image in the film's format, to file_name(path), which it returns.
    virtual std::filesystem::path write(const std::filesystem::path &path,
                                        const Image &image) const = 0;

    /// Rows that are to be rendered and written before those below them, so that no more of the image is ever in memory; 0:
    /// all at once. See render/strips.h.
    virtual int strip_rows() const { return 0; }
    /// The file that takes them, of these channels.
    virtual std::shared_ptr<ImageStrips> open_strips(const std::filesystem::path &path,
                                                     const std::vector<std::string> &names) const {
        (void)path, (void)names;
        return nullptr;
    }

protected:
    /// What declare() does, with other defaults.
    void declare_film(Params &p, int width, int height, const char *filter);
    /// Of one pixel; see develop().
    virtual std::vector<Float> develop_pixel(std::vector<Float> means) const { return means; }
    /// `path` itself if its extension names an image format; if not, with this one.
    static std::filesystem::path with_extension(const std::filesystem::path &path,
                                                const char *extension);

    static constexpr int MostSide = 1 << 20; // pixels
    int m_width = 768, m_height = 576;
    Crop m_crop;
    Ref<Filter> m_filter;

private:
    void check_size(int width, int height) const;
    const FilterAxis &axis(int number, int size) const;
    struct KnownAxis {
        FilterAxis axis;
        int size = 0, revision = 0; // of the image and the filter that it was made for
        bool ends = false;
    };
    mutable KnownAxis m_axes[2];
};

} // namespace umbel
