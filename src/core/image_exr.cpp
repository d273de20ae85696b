// core/image_exr.cpp: OpenEXR: half, float and uint; scanlines and tiles; the first flat part of several.
//
// Layers are channels whose names have a dot. EXR stores channels by name; they are put into the customary
// order (R, G, B, A) within each layer as they are read.
#include <IexBaseExc.h>
#include <ImfArray.h>
#include <ImfChannelList.h>
#include <ImfDoubleAttribute.h>
#include <ImfFloatAttribute.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfInputPart.h>
#include <ImfIntAttribute.h>
#include <ImfIO.h>
#include <ImfMatrixAttribute.h>
#include <ImfMultiPartInputFile.h>
#include <ImfOutputFile.h>
#include <ImfPartType.h>
#include <ImfRgbaFile.h>
#include <ImfStandardAttributes.h>
#include <ImfStringAttribute.h>
#include <ImfTiledOutputFile.h>
#include <ImfVecAttribute.h>

#include "core/file_text.h"
#include "core/image_codec.h"
#include "core/image_exr_zip.h"
#include "core/image_strips.h"
#include <algorithm>
#include <mutex>
#include <new>

namespace umbel {

namespace {

class InputStream final : public Imf::IStream {
public:
    InputStream(ImageInput &in) : Imf::IStream("image"), m_in(in) {}
    bool read(char c[], int n) override {
        if (n < 0 || size_t(n) > m_in.left())
            throw Iex::InputExc("the file ends too early");
        std::memcpy(c, m_in.take(size_t(n)), size_t(n));
        return m_in.left() > 0;
    }
    uint64_t tellg() override { return m_in.at(); }
    void seekg(uint64_t at) override {
        if (at > m_in.size())
            throw Iex::InputExc("the file ends too early");
        m_in.seek(size_t(at));
    }
    void clear() override {}

private:
    ImageInput &m_in;
};

class OutputStream final : public Imf::OStream {
public:
    OutputStream() : Imf::OStream("image") {}
    void write(const char c[], int n) override {
        if (m_at + size_t(n) > bytes.size())
            bytes.resize(m_at + size_t(n));
        std::memcpy(&bytes[m_at], c, size_t(n));
        m_at += size_t(n);
    }
    uint64_t tellp() override { return m_at; }
    void seekp(uint64_t at) override { m_at = size_t(at); }

    std::string bytes;

private:
    size_t m_at = 0;
};

/// By letters, but numbers by their value: ch2 before ch10.
bool is_before(std::string_view a, std::string_view b) {
    auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (!is_digit(a[i]) || !is_digit(b[j])) {
            if (a[i] != b[j])
                return a[i] < b[j];
            ++i, ++j;
            continue;
        }
        auto take = [&](std::string_view s, size_t &at) { // without leading zeros
            while (at + 1 < s.size() && s[at] == '0' && is_digit(s[at + 1]))
                ++at;
            size_t first = at;
            while (at < s.size() && is_digit(s[at]))
                ++at;
            return s.substr(first, at - first);
        };
        std::string_view m = take(a, i), n = take(b, j);
        if (m != n)
            return m.size() != n.size() ? m.size() < n.size() : m < n;
    }
    return a.size() - i < b.size() - j || (a.size() - i == b.size() - j && a < b);
}

/// Customary order within a layer: R G B, X Y Z, others by name, alpha.
std::vector<std::string> in_order(std::vector<std::string> names) {
    std::sort(names.begin(), names.end(), is_before);
    std::vector<std::string> seen;
    auto split = [](const std::string &n) {
        size_t dot = n.rfind('.');
        return dot == n.npos ? std::pair{ std::string(), n }
                             : std::pair{ n.substr(0, dot), n.substr(dot + 1) };
    };
    auto key = [&](const std::string &n) {
        auto [layer, channel] = split(n);
        auto it = std::find(seen.begin(), seen.end(), layer);
        if (it == seen.end())
            it = seen.insert(seen.end(), layer);
        size_t rank = std::string_view("RGBXYZ").find(channel);
        rank = channel.size() == 1 && rank < 6 ? rank : channel == "A" ? 8 : 7;
        return std::pair{ layer.empty() ? 0 : 1 + (it - seen.begin()), rank };
    };
    for (const std::string &n : names)
        key(n);
    std::stable_sort(names.begin(), names.end(),
                     [&](const auto &a, const auto &b) { return key(a) < key(b); });
    return names;
}

ImageMetadata read_metadata(const Imf::Header &header) {
    ImageMetadata out;
    for (auto it = header.begin(); it != header.end(); ++it) {
        const Imf::Attribute &a = it.attribute();
        std::string name = it.name();
        if (auto *s = dynamic_cast<const Imf::StringAttribute *>(&a)) {
            if (name != "type" && name != "name")
                out[name] = s->value();
        } else if (auto *f = dynamic_cast<const Imf::FloatAttribute *>(&a)) {
            if (name != "pixelAspectRatio" && name != "screenWindowWidth")
                out[name] = double(f->value());
        } else if (auto *d = dynamic_cast<const Imf::DoubleAttribute *>(&a)) {
            out[name] = d->value();
        } else if (auto *i = dynamic_cast<const Imf::IntAttribute *>(&a)) {
            if (name != "chunkCount")
                out[name] = int64_t(i->value());
        } else if (auto *v = dynamic_cast<const Imf::V3dAttribute *>(&a)) {
            out[name] = std::array{ v->value().x, v->value().y, v->value().z };
        } else if (auto *v = dynamic_cast<const Imf::V3fAttribute *>(&a)) {
            out[name] =
                std::array{ double(v->value().x), double(v->value().y), double(v->value().z) };
        } else {
            // OpenEXR's matrices act on row vectors
            TransformData t;
            if (auto *m = dynamic_cast<const Imf::M44dAttribute *>(&a))
                for (int r = 0; r < 16; ++r)
                    t(r % 4, r / 4) = m->value()[r / 4][r % 4];
            else if (auto *m = dynamic_cast<const Imf::M44fAttribute *>(&a))
                for (int r = 0; r < 16; ++r)
                    t(r % 4, r / 4) = double(m->value()[r / 4][r % 4]);
            else
                continue;
            out[name] = t;
        }
    }
    return out;
}

void write_metadata(Imf::Header &header, const ImageMetadata &metadata) {
    for (auto &[name, value] : metadata) {
        // Names that mean something to EXR are not ours to write
        if (header.find(name.c_str()) != header.end() || name.empty() || name == "tiles" ||
            name == "type" || name == "name" || name == "view" || name == "version" ||
            name == "chunkCount" || name == "chromaticities" || name == "preview")
            continue;
        if (auto *s = std::get_if<std::string>(&value)) {
            header.insert(name, Imf::StringAttribute(*s));
        } else if (auto *d = std::get_if<double>(&value)) {
            if (double(float(*d)) == *d)
                header.insert(name, Imf::FloatAttribute(float(*d)));
            else
                header.insert(name, Imf::DoubleAttribute(*d));
        } else if (auto *i = std::get_if<int64_t>(&value)) {
            if (*i == int(*i))
                header.insert(name, Imf::IntAttribute(int(*i)));
            else // EXR's integers have 32 bits
                header.insert(name, Imf::DoubleAttribute(double(*i)));
        } else if (auto *v = std::get_if<std::array<double, 3>>(&value)) {
            header.insert(name, Imf::V3dAttribute(Imath::V3d((*v)[0], (*v)[1], (*v)[2])));
        } else {
            const TransformData &t = std::get<TransformData>(value);
            Imath::M44d m;
            for (int r = 0; r < 16; ++r)
                m[r / 4][r % 4] = t(r % 4, r / 4);
            header.insert(name, Imf::M44dAttribute(m));
        }
    }
}

Imf::PixelType pixel_type(Component c) {
    return c == Component::F16 ? Imf::HALF : c == Component::U32 ? Imf::UINT : Imf::FLOAT;
}

/// Slices for all channels of an image whose first pixel lies at (x, y).
Imf::FrameBuffer frame_buffer(const Image &image, int x, int y) {
    Imf::FrameBuffer out;
    size_t size = bytes(image.component()), pixel = size * image.channel_count();
    // The library wants the address of pixel (0, 0), which may lie outside: in integers, that is defined
    intptr_t base = reinterpret_cast<intptr_t>(image.bytes()) - intptr_t(pixel) * x -
                    intptr_t(image.row_bytes()) * y;
    for (size_t c = 0; c < image.channel_count(); ++c)
        out.insert(image.channels()[c],
                   Imf::Slice(pixel_type(image.component()),
                              reinterpret_cast<char *>(base + intptr_t(c * size)), pixel,
                              image.row_bytes()));
    return out;
}

/// A name, up to its 0.
std::string_view take_name(ImageInput &in) {
    const uint8_t *first = in.data() + in.at();
    for (size_t n = 0; in.u8() != 0; ++n)
        if (n == 255)
            in.error("a name of more than 255 letters in the header; the file is damaged");
    return reinterpret_cast<const char *>(first);
}

/// Goes over an attribute's value as the library will, which trusts the type where its length contradicts.
void check_attribute(ImageInput &in, std::string_view type, uint32_t length) {
    static constexpr std::pair<std::string_view, uint32_t> Lengths[] = {
        { "box2f", 16 },
        { "box2i", 16 },
        { "compression", 1 },
        { "double", 8 },
        { "envmap", 1 },
        { "float", 4 },
        { "int", 4 },
        { "keycode", 28 },
        { "m33f", 36 },
        { "m44f", 64 },
        { "lineOrder", 1 },
        { "rational", 8 },
        { "m33d", 72 },
        { "m44d", 128 },
        { "tiledesc", 9 },
        { "timecode", 8 },
        { "v2i", 8 },
        { "v2f", 8 },
        { "v2d", 16 },
        { "v3i", 12 },
        { "v3f", 12 },
        { "v3d", 24 },
        { "chromaticities", 32 },
        { "deepImageState", 1 },
    };
    size_t end = in.at() + length;
    bool sound = true;
    for (auto &[name, expected] : Lengths)
        sound &= type != name || length == expected;
    if (type == "chlist") {
        while (in.at() < end && in.data()[in.at()] != 0) {
            take_name(in);
            in.take(16);
        }
        sound = in.at() + 1 == end;
    } else if (type == "preview") {
        uint64_t width = in.u32(), height = in.u32();
        sound = width < 65536 && height < 65536 && length == 8 + 4 * width * height;
    } else if (type == "stringvector") {
        while (in.at() < end)
            in.take(in.u32());
        sound = in.at() == end;
    } else if (type == "idmanifest") // compressed: its size comes first
        sound = length >= 4 && in.u32() / 1032 <= length;
    if (!sound)
        in.error("an attribute of type \"{}\" has a wrong length; the file is damaged", type);
}

/// Walks all headers: the library allocates what an attribute claims to have, and tables of as many chunks as the image is said
/// to need, before it finds that the file is shorter.
void check_headers(ImageInput &in) {
    // Each chunk has an entry of 8 bytes in a table of the file
    auto check_chunks = [&](uint64_t n) {
        if (n > in.size() / 8)
            in.error("{} bytes cannot hold {} parts of an image; get a complete copy", in.size(),
                     n);
    };
    in.seek(4);
    bool several = in.u32() & 0x1000;
    for (bool empty = false; !empty;) {
        empty = in.left() > 0 && in.data()[in.at()] == 0; // several parts end with an empty header
        uint64_t sides[2] = { 1, 1 }, tile[2] = { 0, 0 };
        while (in.left() > 0 && in.data()[in.at()] != 0) {
            std::string_view name = take_name(in), type = take_name(in);
            uint32_t length = in.u32();
            size_t at = in.at();
            in.take(length);
            in.seek(at);
            check_attribute(in, type, length);
            in.seek(at);
            if (name == "dataWindow" && length == 16) {
                int64_t box[4];
                for (int64_t &v : box)
                    v = in.i32();
                for (size_t k = 0; k < 2; ++k) {
                    int64_t side = box[k + 2] - box[k] + 1;
                    if (side < 1 || side > int64_t(in.options().max_side))
                        in.error("a side of {} pixels; 1 to {} are allowed", side,
                                 in.options().max_side);
                    sides[k] = uint64_t(side);
                }
            } else if (name == "tiles" && length == 9) {
                tile[0] = in.u32();
                tile[1] = in.u32();
            } else if (name == "chunkCount" && length == 4)
                check_chunks(in.u32());
            in.seek(at + length);
        }
        if (tile[0] && tile[1])
            check_chunks((1 + (sides[0] - 1) / tile[0]) * (1 + (sides[1] - 1) / tile[1]));
        in.u8();
        empty |= !several;
        if (in.left() == 0)
            in.truncated();
    }
    in.seek(0);
}

/// The most that a byte of a file can hold, in bytes.
double packing(Imf::Compression c, Component component) {
    constexpr double Deflate = 1032; // zlib's limit
    switch (c) {
    case Imf::NO_COMPRESSION: return 1;
    case Imf::RLE_COMPRESSION: return 64;  // runs of up to 128 in two bytes
    case Imf::PIZ_COMPRESSION: return 512; // runs of up to 256 numbers in 10 bits
    case Imf::DWAA_COMPRESSION:
    case Imf::DWAB_COMPRESSION: // a half of each 8 x 8 block is left, and deflated
        return 32 * Deflate * double(bytes(component));
    default: return 2 * Deflate; // Pixar's drops a byte of four first
    }
}

/// Luminance at full resolution and chroma at half of it, as OpenEXR's own tools write pictures.
bool has_chroma(const Imf::Header &header) {
    auto is_sampled = [&](const char *name, int step) {
        const Imf::Channel *c = header.channels().findChannel(name);
        return c && c->xSampling == step && c->ySampling == step;
    };
    return is_sampled("Y", 1) && is_sampled("RY", 2) && is_sampled("BY", 2);
}

/// Such a picture as RGB; the library interpolates chroma.
Image read_chroma(ImageInput &in, const Imf::Header &header, uint64_t width, uint64_t height) {
    std::vector<std::string> names = { "R", "G", "B" };
    if (header.channels().findChannel("A"))
        names.push_back("A");
    // The file has half of the numbers, or somewhat more
    Image image = in.allocate(width, height, names, Component::F16, false,
                              2 * packing(header.compression(), Component::F16));
    image.metadata = read_metadata(header);
    const Imath::Box2i box = header.dataWindow();
    in.seek(0);
    InputStream stream(in);
    Imf::RgbaInputFile file(stream, 0);
    std::vector<Imf::Rgba> row(width);
    for (int y = box.min.y; y <= box.max.y; ++y) {
        // The library wants the address of pixel (0, 0), which may lie outside: in integers, that is defined
        intptr_t base =
            reinterpret_cast<intptr_t>(row.data()) - intptr_t(sizeof(Imf::Rgba)) * box.min.x;
        file.setFrameBuffer(reinterpret_cast<Imf::Rgba *>(base), 1, 0);
        file.readPixels(y);
        std::vector<double> numbers;
        for (const Imf::Rgba &p : row) {
            for (half v : { p.r, p.g, p.b })
                numbers.push_back(double(float(v)));
            if (names.size() == 4)
                numbers.push_back(double(float(p.a)));
        }
        image.write_row(size_t(y - box.min.y), numbers.data());
    }
    return image;
}

/// A channel with one number for several pixels.
struct Coarse {
    size_t channel, step_x, step_y, width;
    std::vector<float> numbers;
};

/// Such channels, as a file's part is to be read into them in place of the image.
std::vector<Coarse> coarse_channels(const Imf::Header &header, const Image &image,
                                    Imf::FrameBuffer &buffer) {
    std::vector<Coarse> out;
    for (size_t i = 0; i < image.channel_count(); ++i) {
        const char *name = image.channels()[i].c_str();
        const Imf::Channel &c = header.channels()[name];
        if (c.xSampling == 1 && c.ySampling == 1)
            continue;
        size_t step_x = size_t(c.xSampling), step_y = size_t(c.ySampling),
               width = (image.width() + step_x - 1) / step_x,
               height = (image.height() + step_y - 1) / step_y;
        out.push_back({ i, step_x, step_y, width, std::vector<float>(width * height) });
        buffer.insert(name, Imf::Slice::Make(Imf::FLOAT, out.back().numbers.data(),
                                             header.dataWindow(), sizeof(float),
                                             sizeof(float) * width, c.xSampling, c.ySampling));
    }
    return out;
}

Image read_part(ImageInput &in) {
    check_headers(in);
    InputStream stream(in);
    Imf::MultiPartInputFile file(stream, 0, false);
    int part = 0;
    while (part < file.parts() && file.header(part).hasType() &&
           Imf::isDeepData(file.header(part).type()))
        ++part;
    if (part == file.parts())
        in.error("it has deep pixels only; flatten it");
    const Imf::Header &header = file.header(part);

    // What is in it, before anything is allocated
    const Imath::Box2i &box = header.dataWindow();
    uint64_t width = uint64_t(int64_t(box.max.x) - box.min.x + 1);
    uint64_t height = uint64_t(int64_t(box.max.y) - box.min.y + 1);
    std::vector<std::string> names;
    bool half = true, uint = true;
    if (part == 0 && has_chroma(header))
        return read_chroma(in, header, width, height);
    double coarsest = 1; // pixels that a number stands for
    for (auto c = header.channels().begin(); c != header.channels().end(); ++c) {
        coarsest = std::max(coarsest, double(c.channel().xSampling) * c.channel().ySampling);
        if (coarsest > 16)
            in.error("channel \"{}\" has a number for {} x {} pixels; store it at full resolution",
                     c.name(), c.channel().xSampling, c.channel().ySampling);
        names.push_back(c.name());
        half &= c.channel().type == Imf::HALF;
        uint &= c.channel().type == Imf::UINT;
    }
    if (names.empty())
        in.error("it has no channels; the file is damaged");
    if (names.size() > 4096)
        in.error("{} channels; up to 4096 are allowed", names.size());
    Component component = half ? Component::F16 : uint ? Component::U32 : Component::F32;
    if (header.hasTileDescription()) {
        const Imf::TileDescription &t = header.tileDescription();
        double area = double(t.xSize) * double(t.ySize);
        if (area > std::max(4.0 * double(width) * double(height), 4194304.0))
            in.error("tiles of {} x {} pixels for an image of {} x {}; the file is damaged",
                     t.xSize, t.ySize, width, height);
    }
    Image image = in.allocate(width, height, in_order(std::move(names)), component, false,
                              coarsest * packing(header.compression(), component));
    image.metadata = read_metadata(header);
    Imf::InputPart pixels(file, part);
    Imf::FrameBuffer buffer = frame_buffer(image, box.min.x, box.min.y);
    std::vector<Coarse> coarse = coarse_channels(header, image, buffer);
    pixels.setFrameBuffer(buffer);
    pixels.readPixels(box.min.y, box.max.y);
    for (const Coarse &c : coarse)
        for (size_t y = 0; y < height; ++y)
            for (size_t x = 0; x < width; ++x)
                image.set(x, y, c.channel,
                          double(c.numbers[y / c.step_y * c.width + x / c.step_x]));
    return image;
}

constexpr std::pair<const char *, Imf::Compression> Compressions[] = {
    { "none", Imf::NO_COMPRESSION },   { "rle", Imf::RLE_COMPRESSION },
    { "zips", Imf::ZIPS_COMPRESSION }, { "zip", Imf::ZIP_COMPRESSION },
    { "piz", Imf::PIZ_COMPRESSION },   { "pxr24", Imf::PXR24_COMPRESSION },
    { "b44", Imf::B44_COMPRESSION },   { "b44a", Imf::B44A_COMPRESSION },
    { "dwaa", Imf::DWAA_COMPRESSION }, { "dwab", Imf::DWAB_COMPRESSION },
};

Imf::Compression compression(const std::string &wanted) {
    std::string known;
    for (auto &[name, c] : Compressions) {
        if (name == wanted)
            return c;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    fail("EXR: no compression is called \"{}\"; use one of {}", wanted, known);
}

/// The library would deflate with one core, or with threads of its own.
void write_zip(OutputStream &stream, const Imf::Header &header, const Image &image) {
    {
        Imf::OutputFile without_pixels(stream, header, 0);
    } // ends with a table of zeros
    std::vector<std::string> blocks = exr_zip_blocks(image, header.zipCompressionLevel());
    size_t table = size_t(stream.tellp()) - sizeof(uint64_t) * blocks.size();
    for (size_t i = 0; i < blocks.size(); ++i) {
        uint64_t at = stream.tellp();
        std::memcpy(&stream.bytes[table + sizeof at * i], &at, sizeof at);
        const int32_t start[2] = { int32_t(i * ExrZipRows), int32_t(blocks[i].size()) };
        stream.write(reinterpret_cast<const char *>(start), sizeof start);
        stream.write(blocks[i].data(), int(blocks[i].size()));
    }
}

} // namespace

Image read_exr(ImageInput &in) {
    static std::once_flag once;
    std::call_once(once, [] { Imf::Header::setMaxImageSize(1 << 24, 1 << 24); });
    try {
        return read_part(in);
    } catch (const UserError &) {
        throw;
    } catch (const std::bad_alloc &) {
        in.error("there is not enough memory for it; get a complete copy, or scale it down");
    } catch (const std::exception &e) {
        std::string what = e.what();
        in.error("{}; get a complete copy", what.substr(0, what.find_last_not_of(" \n.") + 1));
    }
}

std::string write_exr(const Image &picture, const ImageWriteOptions &options) {
    if (picture.pixels() == 0 || picture.channel_count() == 0)
        fail("EXR: an image of {} x {} pixels and {} channels cannot be written", picture.width(),
             picture.height(), picture.channel_count());
    Component c = options.component.value_or(picture.component());
    if (c != Component::F16 && c != Component::U32)
        c = c == Component::U8 ? Component::F16 : Component::F32;
    Image image = convert(picture, c, false);

    Imf::Header header(int(image.width()), int(image.height()));
    header.compression() = compression(options.compression);
    for (const std::string &name : image.channels()) {
        if (name.empty() || name.size() > 255)
            fail("EXR: a channel's name of {} letters; it must be 1 to 255", name.size());
        header.channels().insert(name, Imf::Channel(pixel_type(c)));
    }
    write_metadata(header, image.metadata);
    OutputStream stream;
    try {
        if (options.tile > 0) {
            header.setTileDescription(
                Imf::TileDescription(unsigned(options.tile), unsigned(options.tile)));
            Imf::TiledOutputFile file(stream, header, 0);
            file.setFrameBuffer(frame_buffer(image, 0, 0));
            file.writeTiles(0, file.numXTiles() - 1, 0, file.numYTiles() - 1);
        } else if (header.compression() == Imf::ZIP_COMPRESSION) {
            write_zip(stream, header, image);
        } else {
            Imf::OutputFile file(stream, header, 0);
            file.setFrameBuffer(frame_buffer(image, 0, 0));
            file.writePixels(int(image.height()));
        }
    } catch (const std::exception &e) {
        fail("EXR: {}", e.what());
    }
    return std::move(stream.bytes);
}

// ---- strips

namespace {

class ExrStrips final : public ImageStrips {
public:
    ExrStrips(const std::filesystem::path &path, const Imf::Header &header, Component component)
        : m_path(followed(path)), m_temporary(temporary_name(m_path)), m_component(component),
          m_file(std::in_place, m_temporary.c_str(), header, 0) {
        keep_mode(m_path, m_temporary);
    }
    ~ExrStrips() override {
        m_file.reset();
        std::error_code ignored;
        if (!m_is_done)
            std::filesystem::remove(m_temporary, ignored);
    }

    void add(const Image &strip) override {
        const Imath::Box2i &box = m_file->header().dataWindow();
        int tile = int(m_file->tileYSize()), rows = int(strip.height()), end = m_row + rows,
            height = box.max.y + 1;
        check(int(strip.width()) == box.max.x + 1 && m_row % tile == 0 &&
              (end == height || (end < height && rows % tile == 0)));
        guarded([&] {
            Image image = convert(strip, m_component, false);
            m_file->setFrameBuffer(frame_buffer(image, 0, m_row));
            m_file->writeTiles(0, m_file->numXTiles() - 1, m_row / tile, (end - 1) / tile);
        });
        m_row = end;
    }
    void finish() override {
        check(m_row == m_file->header().dataWindow().max.y + 1);
        guarded([&] { m_file.reset(); });
        std::filesystem::rename(m_temporary, m_path);
        m_is_done = true;
    }

private:
    template <class F> void guarded(const F &f) {
        try {
            f();
        } catch (const std::exception &e) {
            fail("{}: EXR: {}; check the folder and the space on its disk", m_path.string(),
                 e.what());
        }
    }

    std::filesystem::path m_path, m_temporary;
    Component m_component;
    std::optional<Imf::TiledOutputFile> m_file;
    int m_row = 0;
    bool m_is_done = false;
};

} // namespace

std::shared_ptr<ImageStrips> open_exr_strips(const std::filesystem::path &path, size_t width,
                                             size_t height, const std::vector<std::string> &names,
                                             Component component, size_t tile) {
    Imf::Header header{ int(width), int(height) };
    header.compression() = Imf::ZIP_COMPRESSION;
    header.setTileDescription(Imf::TileDescription(unsigned(tile), unsigned(tile)));
    for (const std::string &name : names)
        header.channels().insert(name, Imf::Channel(pixel_type(component)));
    try {
        return std::make_shared<ExrStrips>(path, header, component);
    } catch (const std::exception &e) {
        fail("{}: cannot be written: {}; check the folder and the space on its disk", path.string(),
             e.what());
    }
}

} // namespace umbel
