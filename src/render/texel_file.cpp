// render/texel_file.cpp: packing texels, and sharing them.
#include "render/texel_file.h"
#include "core/colour.h"
#include "core/properties.h"
#include "core/upsampling.h"
#include "jit/element_count.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <tbb/task_arena.h>

namespace umbel {

namespace {

// All bits of the exponent set: infinite, or not a number.
template <class Bits> bool is_finite(const Bits *v, size_t n, Bits exponent) {
    bool finite = true;
    for (size_t i = 0; i < n; ++i)
        finite &= (v[i] & exponent) != exponent;
    return finite;
}

// Coefficients and luminance.
std::array<float, 4> upsampled(Colour3 c) {
    auto y = float(luminance(c));
    for (double &v : c)
        v = std::clamp(v, 0.0, 1.0);
    c = table_coefficients(c);
    return { float(c[0]), float(c[1]), float(c[2]), y };
}

// Of bytes, the same colours come again and again: those that were met last are kept.
void store_byte_coefficients(const Image &image, float *to) {
    struct Met {
        uint32_t bytes = ~0u; // which no colour is
        std::array<float, 4> texel;
    };
    constexpr uint32_t Bits = 14; // as many as a core's cache holds
    std::vector<Met> met(size_t(1) << Bits);
    std::vector<double> codes(256);
    Image all(256, 1, { "Y" }, Component::U8, image.srgb());
    std::iota(all.bytes(), all.bytes() + 256, uint8_t(0));
    all.read_row(0, codes.data(), true);
    size_t n = image.channel_count(), second = n > 1 ? 1 : 0, third = n > 1 ? 2 : 0;
    const uint8_t *from = image.bytes(), *end = from + n * image.pixels();
    for (; from < end; from += n, to += 4) {
        uint32_t bytes = from[0] | uint32_t(from[second]) << 8 | uint32_t(from[third]) << 16;
        Met &m = met[(bytes * 0x9e3779b1u) >> (32 - Bits)];
        if (m.bytes != bytes)
            m = { bytes, upsampled({ codes[from[0]], codes[from[second]], codes[from[third]] }) };
        std::copy(m.texel.begin(), m.texel.end(), to);
    }
}

void store_coefficients(const Image &image, float *to) {
    if (image.component() == Component::U8)
        return store_byte_coefficients(image, to);
    size_t n = image.channel_count();
    std::vector<double> row(image.width() * n);
    for (size_t y = 0; y < image.height(); ++y) {
        image.read_row(y, row.data(), true);
        for (size_t i = 0; i < row.size(); i += n, to += 4) {
            std::array<float, 4> texel =
                upsampled({ row[i], row[i + (n > 1 ? 1 : 0)], row[i + (n > 1 ? 2 : 0)] });
            std::copy(texel.begin(), texel.end(), to);
        }
    }
}

// By its name, whatever its case: the whole of it, or what is after the last dot.
Image one_channel(const Image &image, const std::string &wanted, const std::string &where) {
    auto lower = [](std::string text) {
        for (char &c : text)
            c = char(std::tolower(static_cast<unsigned char>(c)));
        return text;
    };
    for (bool whole : { true, false })
        for (const std::string &name : image.channels()) {
            std::string shown = whole ? name : name.substr(name.rfind('.') + 1);
            if (lower(shown) != lower(wanted))
                continue;
            Image one = select_channels(image, { name });
            Image grey(one.width(), one.height(), { "Y" }, one.component(),
                       one.srgb() && !is_alpha(name));
            std::copy_n(one.bytes(), one.byte_count(), grey.bytes());
            return grey;
        }
    fail("{}: has no channel {}; there are {}", where, quote(wanted),
         fmt::join(image.channels(), ", "));
}

std::optional<bool> encoding(const TexelOptions &options) {
    if (options.raw || options.gamma > 0)
        return false;
    return options.gamma < 0 ? std::optional(true) : std::nullopt;
}

Image in_model(Image image) {
    bool is_grey = colour_model(image) == ColourModel::Y;
    std::vector<std::string> wanted =
        is_grey ? std::vector<std::string>{ "Y" } : std::vector<std::string>{ "R", "G", "B" };
    if (image.channels() == wanted)
        return image;
    return to_model(image, is_grey ? ColourModel::Y : ColourModel::Rgb, false);
}

void check_finite(const Image &image, const std::string &where) {
    size_t numbers = image.pixels() * image.channel_count();
    bool finite = true;
    if (image.component() == Component::F16)
        finite =
            is_finite(reinterpret_cast<const uint16_t *>(image.bytes()), numbers, uint16_t(0x7c00));
    else if (image.component() == Component::F32)
        finite = is_finite(reinterpret_cast<const uint32_t *>(image.bytes()), numbers,
                           uint32_t(0x7f800000));
    if (!finite)
        fail("{}: a pixel of the image is not a finite number", where);
}

// One a texel, or three and one of padding.
template <class Bits> void pack(const Image &image, Bits *to) {
    const auto *from = reinterpret_cast<const Bits *>(image.bytes());
    if (image.channel_count() == 1) {
        std::copy_n(from, image.pixels(), to);
        return;
    }
    for (size_t i = 0; i < image.pixels(); ++i, from += 3, to += 4) {
        to[0] = from[0], to[1] = from[1], to[2] = from[2];
        to[3] = 0;
    }
}

} // namespace

Image understood(Image image, const TexelOptions &options, const std::string &where) {
    if (std::optional<bool> srgb = encoding(options))
        image.set_srgb(*srgb);
    if (!options.channel.empty())
        image = one_channel(image, options.channel, where);
    if (options.raw || !(options.gamma > 0) || options.gamma == 1)
        return image;
    image = convert(image, Component::F32, false);
    for (size_t y = 0; y < image.height(); ++y) {
        auto *row = reinterpret_cast<float *>(image.bytes() + y * image.row_bytes());
        for (size_t i = 0; i < image.width() * image.channel_count(); ++i)
            if (!is_alpha(image.channels()[i % image.channel_count()]))
                row[i] = std::pow(std::max(row[i], 0.0f), float(options.gamma));
    }
    return image;
}

Image read_understood(const std::filesystem::path &file, const TexelOptions &options) {
    ImageReadOptions how;
    if (std::optional<bool> srgb = encoding(options))
        how.srgb = *srgb;
    return understood(read_image(file, how), options, file.string());
}

Image linear_floats(Image image, const std::string &where) {
    image = in_model(convert(image, Component::F32, false));
    check_finite(image, where);
    return image;
}

Texels make_texels(Image image, const TexelOptions &options, const std::string &where) {
    bool spectral = options.spectral;
    if (image.pixels() >= (1u << 30)) // their packets are counted with 32 bits
        fail("{}: {} x {} pixels are too many; scale the image down to 2^30 pixels", where,
             image.width(), image.height());
    // What is neither bytes nor halves becomes floats, and so does what has to be computed with
    ColourModel model = colour_model(image);
    Texels t;
    t.spectral = spectral;
    t.storage = image.component() == Component::U8    ? Component::U8
                : image.component() == Component::F16 ? Component::F16
                                                      : Component::F32;
    if (model == ColourModel::Xyz || (image.srgb() && t.storage != Component::U8))
        t.storage = Component::F32;
    t.storage = options.storage.value_or(t.storage);
    if (t.storage != Component::U8 && (image.component() != t.storage || image.srgb()))
        image = convert(image, t.storage, false);
    image = in_model(std::move(image));
    check_finite(image, where);

    t.width = image.width();
    t.height = image.height();
    t.channels = uint32_t(image.channel_count());
    t.srgb = image.srgb();
    size_t each = t.channels == 1 && !spectral ? 1 : 4;
    size_t size = spectral ? sizeof(float) : bytes(t.storage);
    t.memory = jit::allocate(image.pixels() * each * size);
    t.count = jit::element_count(image.pixels() * each);
    if (spectral)
        store_coefficients(image, static_cast<float *>(t.memory->data()));
    else if (t.storage == Component::U8) {
        pack(image, static_cast<uint8_t *>(t.memory->data()));
        t.type = each == 1 ? jit::Type::U8 : jit::Type::U32; // four bytes are fetched as one number
        t.count = uint32_t(image.pixels());
    } else if (t.storage == Component::F16) {
        pack(image, static_cast<uint16_t *>(t.memory->data()));
        t.type = jit::Type::F16;
    } else
        pack(image, static_cast<uint32_t *>(t.memory->data()));
    return t;
}

std::shared_ptr<const Texels> read_texels(const std::filesystem::path &file,
                                          const TexelOptions &options) {
    struct Entry {
        std::mutex mutex;
        std::weak_ptr<const Texels> texels;
        std::filesystem::file_time_type time;
        uintmax_t size = 0;
    };
    using Key = std::pair<std::string, TexelOptions>;
    static std::mutex mutex;
    static std::map<Key, std::shared_ptr<Entry>> entries;
    std::error_code error;
    std::filesystem::path canonical = std::filesystem::weakly_canonical(file, error);
    Key key(error ? file.string() : canonical.string(), options);
    std::shared_ptr<Entry> entry;
    {
        std::lock_guard lock(mutex);
        std::shared_ptr<Entry> &e = entries[key];
        if (!e)
            e = std::make_shared<Entry>();
        entry = e;
    }
    std::lock_guard lock(entry->mutex); // whoever else wants this file waits
    auto time = std::filesystem::last_write_time(file, error);
    auto size = std::filesystem::file_size(file, error);
    if (auto known = entry->texels.lock(); known && entry->time == time && entry->size == size)
        return known;
    // While it waits for others to convert a part, this thread takes no task that would want the lock again
    auto texels = tbb::this_task_arena::isolate([&] {
        return std::make_shared<Texels>(
            make_texels(read_understood(file, options), options, file.string()));
    });
    entry->texels = texels;
    entry->time = time;
    entry->size = size;
    return texels;
}

} // namespace umbel
