// render/film.h: where an image is collected and how it is written.
#pragma once
#include "core/image.h"
#include "render/filter.h"
#include <filesystem>

namespace umbel {

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
    /// Changes the size; the crop window becomes the whole image.
    void set_size(int width, int height);
    void set_crop(const Crop &crop);

    /// Writes an image in the film's format. `path` without an extension, or with one that is no image format,
    /// gets the format's. Returns the file's name.
    virtual std::filesystem::path write(const std::filesystem::path &path,
                                        const Image &image) const = 0;
    /// Whether pixels at the border see what lies beyond it, as the others see all around them; if not, the
    /// filter ends there.
    virtual bool sample_border() const { return false; }
    /// Whether a sample is added to all pixels that the filter reaches from where it is, in place of being drawn from the
    /// filter of one pixel.
    virtual bool splats() const { return false; }
    /// Whether the image has an alpha channel.
    virtual bool has_alpha() const { return false; }
    /// The channels of the image as users know it: rgb, luminance_alpha...
    virtual const char *pixel_format() const { return has_alpha() ? "rgba" : "rgb"; }

protected:
    int m_width = 768, m_height = 576;
    Crop m_crop;
    Ref<Filter> m_filter;
};

} // namespace umbel
