// core/image.h: images on the host: pixels of any component type, named channels, metadata.
//
// Files are read and written by core/image_io.h; resampling, tone mapping and comparison are in
// core/image_ops.h. Textures keep an image's component type as it came.
#pragma once
#include "core/transform_data.h"
#include "jit/error.h"
#include "jit/type.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace umbel {

/// How a component is stored. u8 and u16 stand for fractions of 1; u32 are plain numbers, such as ids.
enum class Component : uint8_t { U8, U16, U32, F16, F32, F64 };
const char *name(Component c);
size_t bytes(Component c);
inline bool is_float(Component c) { return c >= Component::F16; }

using ImageValue =
    std::variant<std::string, double, int64_t, std::array<double, 3>, TransformData>;
using ImageMetadata = std::map<std::string, ImageValue>;

class Image {
public:
    Image() = default;
    /// Black. Channel names are distinct; "A" at the end of one ("A", "layer.A") means alpha.
    Image(size_t width, size_t height, std::vector<std::string> channels,
          Component component = Component::F32, bool srgb = false);

    size_t width() const { return m_width; }
    size_t height() const { return m_height; }
    size_t pixels() const { return m_width * m_height; }
    const std::vector<std::string> &channels() const { return m_channels; }
    size_t channel_count() const { return m_channels.size(); }
    /// Position of a channel, or -1.
    int find_channel(std::string_view name) const;
    Component component() const { return m_component; }
    /// Whether all channels but alpha are encoded with the sRGB transfer function.
    bool srgb() const { return m_srgb; }
    void set_srgb(bool srgb) { m_srgb = srgb; }

    /// Row by row from the top, channels interleaved, no padding.
    uint8_t *bytes() { return m_data.data(); }
    const uint8_t *bytes() const { return m_data.data(); }
    size_t byte_count() const { return m_data.size(); }
    size_t row_bytes() const { return m_width * m_channels.size() * umbel::bytes(m_component); }
    /// The components as `T`, which must be their type.
    template <class T> T *data() { return const_cast<T *>(std::as_const(*this).data<T>()); }
    template <class T> const T *data() const {
        check_type(jit::type_of_v<T>);
        return reinterpret_cast<const T *>(m_data.data());
    }

    /// One component as stored: fractions for u8 and u16, sRGB not undone. For whole images see below.
    double get(size_t x, size_t y, size_t channel) const;
    void set(size_t x, size_t y, size_t channel, double value);
    /// A row of width * channels components; `linear` undoes (or applies) the sRGB encoding if there is.
    void read_row(size_t y, double *out, bool linear = false) const;
    /// Rounds to nearest; integer types clamp, and NaN becomes 0 there.
    void write_row(size_t y, const double *in, bool linear = false);

    /// Same size, encoding and metadata, black.
    Image with_channels(std::vector<std::string> channels) const;

    ImageMetadata metadata;

private:
    void check_type(jit::Type t) const;

    size_t m_width = 0, m_height = 0;
    std::vector<std::string> m_channels;
    Component m_component = Component::F32;
    bool m_srgb = false;
    std::vector<uint8_t> m_data;
};

bool is_alpha(std::string_view channel);

/// The same image in another component type and encoding.
Image convert(const Image &image, Component component, bool srgb);
/// Likewise; 8 and 16 bits become sRGB, all else linear.
Image convert(const Image &image, Component component);

/// The named channels in that order; an unknown one is a UserError that lists the known ones.
Image select_channels(const Image &image, const std::vector<std::string> &channels);
/// Names before the last dot of the channels' names, in order; "" for channels without one.
std::vector<std::string> layers(const Image &image);
/// The channels of a layer, without its name.
Image select_layer(const Image &image, std::string_view layer);

/// What the channels of a picture mean. Any of them may have alpha: see to_model().
enum class ColourModel { Y, Rgb, Xyz };
/// The model of an image's (or its first layer's) channels; a UserError for channels that are no colour.
ColourModel colour_model(const Image &image);
/// Channels Y, RGB or XYZ of a picture, with alpha at the end where `alpha` says so (1 if there was none).
/// XYZ is linear, whatever the image was.
Image to_model(const Image &image, ColourModel model, bool alpha);
bool has_alpha(const Image &image);

/// Multiplies colours by alpha, or divides them; without alpha the image is returned as it is.
Image premultiply(const Image &image);
Image unpremultiply(const Image &image);

} // namespace umbel
