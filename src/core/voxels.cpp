// core/voxels.cpp: see voxels.h.
#include "core/voxels.h"
#include "core/voxel_bytes.h"
#include "jit/error.h"
#include "jit/stream.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <numbers>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umbel {

namespace {

// ---- numbers that can be compared as they lie in memory

/// Halves as integers in the order of their values.
struct Half {
    uint16_t bits;
    bool is_finite() const { return (bits & 0x7c00) != 0x7c00; }
    int32_t key() const { return bits & 0x8000 ? -int32_t(bits & 0x7fff) : int32_t(bits); }
    static double value(int32_t key) {
        auto bits = uint32_t(key < 0 ? -key : key), exponent = bits >> 10, mantissa = bits & 0x3ff;
        double v =
            exponent ? std::ldexp(1024 + mantissa, int(exponent) - 25) : std::ldexp(mantissa, -24);
        return key < 0 ? -v : v;
    }
};
struct Byte {
    uint8_t bits;
    static bool is_finite() { return true; }
    int32_t key() const { return bits; }
    static double value(int32_t key) { return key / 255.0; }
};
template <class T> struct Real {
    T v;
    bool is_finite() const { return std::isfinite(v); }
    T key() const { return v; }
    static double value(T key) { return double(key); }
};

template <class F> auto with_type(const Voxels &v, F &&f) {
    const void *p = v.data.get();
    switch (v.type) {
    case jit::Type::U8: return f(static_cast<const Byte *>(p));
    case jit::Type::F16: return f(static_cast<const Half *>(p));
    case jit::Type::F64: return f(static_cast<const Real<double> *>(p));
    default: check(v.type == jit::Type::F32); return f(static_cast<const Real<float> *>(p));
    }
}

constexpr size_t Block = 1 << 20; // numbers

/// The first number that is not good.
template <class F> std::optional<size_t> find_first(const Voxels &v, F &&is_good) {
    return with_type(v, [&](auto *p) -> std::optional<size_t> {
        std::atomic<size_t> first = v.stored();
        jit::parallel_blocks(v.stored(), Block, [&](uint64_t begin, uint64_t end) {
            bool all = true; // no early end: compilers make vectors of it
            for (uint64_t i = begin; i < end; ++i)
                all &= is_good(p[i]);
            for (uint64_t i = begin; !all && i < end; ++i)
                if (!is_good(p[i])) {
                    for (size_t seen = first; i < seen && !first.compare_exchange_weak(seen, i);) {
                    }
                    break;
                }
        });
        return first < v.stored() ? std::optional<size_t>(first) : std::nullopt;
    });
}

/// The range of keys whose values lie in a range of numbers.
template <class T> std::pair<T, T> keys(const Real<T> *, double least, double most) {
    return { T(least), T(most) };
}
template <class N> std::pair<int32_t, int32_t> keys(const N *, double least, double most) {
    int32_t low = 0x10000, high = -0x10000;
    for (int32_t key = -0x7bff; key <= 0x7bff; ++key) // all finite halves; more than all bytes
        if (double v = N::value(key); v >= least && v <= most)
            low = std::min(low, key), high = key;
    return { low, high };
}

size_t wrapped(long i, size_t n, const std::string &mode) {
    long m = long(n);
    if (mode == "clamp")
        return size_t(std::clamp(i, 0l, m - 1));
    if (mode == "repeat")
        return size_t((i % m + m) % m);
    long period = 2 * m, k = (i % period + period) % period;
    return size_t(k < m ? k : period - 1 - k);
}

/// Which voxels count in each part of an axis.
std::vector<std::vector<size_t>> voxels_of_parts(size_t parts, size_t n, bool blended,
                                                 const std::string &wrap) {
    std::vector<std::vector<size_t>> out(parts);
    for (size_t k = 0; k < parts; ++k) {
        double from = double(k * n) / double(parts), to = double((k + 1) * n) / double(parts);
        long first = long(std::floor(blended ? from - 0.5 : from));
        long last = blended ? long(std::floor(to - 0.5)) + 1 : long(std::ceil(to)) - 1;
        for (long i = first; i <= last; ++i)
            out[k].push_back(wrapped(i, n, wrap));
        std::sort(out[k].begin(), out[k].end());
        out[k].erase(std::unique(out[k].begin(), out[k].end()), out[k].end());
    }
    return out;
}

// ---- files

struct Descriptor {
    int fd;
    ~Descriptor() { ::close(fd); }
};

/// All of a file from `offset` on.
std::shared_ptr<const void> contents(const std::filesystem::path &file, size_t size,
                                     size_t offset) {
    Descriptor f{ ::open(file.c_str(), O_RDONLY | O_CLOEXEC) };
    if (f.fd < 0)
        fail("{}: cannot be read: {}", file.string(), std::strerror(errno));
    if (size > size_t(1) << 30) {
        void *p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, f.fd, 0);
        if (p == MAP_FAILED)
            fail("{}: cannot be mapped: {}", file.string(), std::strerror(errno));
        std::shared_ptr<const void> whole(p, [size](void *q) { ::munmap(q, size); });
        return { whole, static_cast<const char *>(p) + offset };
    }
    std::shared_ptr<char[]> memory(new char[size - offset + 1]);
    for (size_t done = offset; done < size;) {
        ssize_t n = ::pread(f.fd, memory.get() + (done - offset), size - done, off_t(done));
        if (n <= 0)
            fail("{}: cannot be read beyond byte {}", file.string(), done);
        done += size_t(n);
    }
    return { memory, memory.get() };
}

/// Angles become vectors.
void decode_directions(Voxels &v) {
    size_t n = v.size[0] * v.size[1] * v.size[2];
    auto *angles = static_cast<const uint8_t *>(v.data.get());
    std::shared_ptr<float[]> out(new float[3 * n]);
    for (size_t i = 0; i < n; ++i) {
        double theta = angles[2 * i] * std::numbers::pi / 255,
               phi = angles[2 * i + 1] * 2 * std::numbers::pi / 255;
        double known = angles[2 * i] == 255 || angles[2 * i + 1] == 255 ? 0 : 1;
        out[3 * i] = float(known * std::cos(phi) * std::sin(theta));
        out[3 * i + 1] = float(known * std::sin(phi) * std::sin(theta));
        out[3 * i + 2] = float(known * std::cos(theta));
    }
    v.data = { out, out.get() };
    v.channels = 3;
    v.type = jit::Type::F32;
}

} // namespace

double Voxels::number(size_t i) const {
    return with_type(*this, [&](auto *p) { return p->value(p[i].key()); });
}

size_t Voxels::place_of(size_t x, size_t y, size_t z) const {
    if (!bricks)
        return (z * size[1] + y) * size[0] + x;
    constexpr size_t W = Bricks::Width;
    const Bricks &b = *bricks;
    x += b.first[0], y += b.first[1], z += b.first[2];
    size_t brick = b.index.get()[(z / W * b.count[1] + y / W) * b.count[0] + x / W];
    return brick * Bricks::Voxels + (z % W * W + y % W) * W + x % W;
}

std::array<size_t, 3> Voxels::voxel_of(size_t i) const {
    size_t at = i / channels;
    if (!bricks)
        return { at % size[0], at / size[0] % size[1], at / size[0] / size[1] };
    // The first place of its brick, and there the nearest voxel of the grid
    constexpr size_t W = Bricks::Width;
    const Bricks &b = *bricks;
    const uint32_t *index = b.index.get(), *end = index + b.count[0] * b.count[1] * b.count[2],
                   *found = std::find(index, end, uint32_t(at / Bricks::Voxels));
    auto brick = size_t(found - index), local = at % Bricks::Voxels;
    std::array<size_t, 3> p = { brick % b.count[0] * W + local % W,
                                brick / b.count[0] % b.count[1] * W + local / W % W,
                                brick / b.count[0] / b.count[1] * W + local / W / W };
    for (size_t a = 0; a < 3; ++a)
        p[a] = std::clamp(p[a], b.first[a], b.first[a] + size[a] - 1) - b.first[a];
    return p;
}

std::optional<size_t> Voxels::find_not_finite() const {
    return find_first(*this, [](auto &n) { return n.is_finite(); });
}

std::optional<size_t> Voxels::find_outside(double least, double most) const {
    return with_type(*this, [&](auto *p) {
        auto [low, high] = keys(p, least, most);
        auto is_inside = [low = low, high = high](auto &n) {
            return (n.key() >= low) & (n.key() <= high);
        };
        return find_first(*this, is_inside);
    });
}

std::vector<double> Voxels::max_per_channel() const {
    return with_type(*this, [&](auto *p) {
        using Key = decltype(p->key());
        size_t n = stored() / channels, blocks = (n + Block - 1) / Block;
        std::vector<Key> most(blocks * channels);
        jit::parallel_blocks(n, Block, [&](uint64_t begin, uint64_t end) {
            for (size_t c = 0; c < channels; ++c) {
                Key m = p[begin * channels + c].key();
                for (uint64_t i = begin; i < end; ++i)
                    m = std::max(m, p[i * channels + c].key());
                most[begin / Block * channels + c] = m;
            }
        });
        std::vector<double> out(channels, -std::numeric_limits<double>::infinity());
        for (size_t i = 0; i < most.size(); ++i)
            out[i % channels] = std::max(out[i % channels], p->value(most[i]));
        return out;
    });
}

double Voxels::mean_of(const std::vector<double> &each) const {
    double sum = 0;
    if (!bricks) {
        for (double v : each)
            sum += v;
        return sum / double(each.size());
    }
    constexpr size_t W = Bricks::Width;
    const Bricks &b = *bricks;
    std::vector<double> of_brick(b.stored);
    for (size_t i = 0; i < each.size(); ++i)
        of_brick[i / Bricks::Voxels] += each[i];
    auto from = [&](size_t brick, size_t a) { return std::max(brick * W, b.first[a]); };
    auto to = [&](size_t brick, size_t a) {
        return std::min((brick + 1) * W, b.first[a] + size[a]);
    };
    const uint32_t *at = b.index.get();
    for (size_t k = 0; k < b.count[2]; ++k)
        for (size_t j = 0; j < b.count[1]; ++j)
            for (size_t i = 0; i < b.count[0]; ++i, ++at) {
                size_t x = to(i, 0) - from(i, 0), y = to(j, 1) - from(j, 1),
                       z = to(k, 2) - from(k, 2);
                if (x * y * z == Bricks::Voxels) {
                    sum += of_brick[*at];
                    continue;
                }
                for (size_t r = from(k, 2); r < to(k, 2); ++r)
                    for (size_t q = from(j, 1); q < to(j, 1); ++q)
                        for (size_t p = from(i, 0); p < to(i, 0); ++p)
                            sum += each[*at * Bricks::Voxels + (r % W * W + q % W) * W + p % W];
            }
    return sum / (double(size[0]) * double(size[1]) * double(size[2]));
}

// The extremes of a whole brick count where all of it lies in a part, or where its numbers are equal.
Voxels::Bounds
Voxels::bounds_of_bricks(const std::array<size_t, 3> &parts,
                         const std::array<std::vector<std::vector<size_t>>, 3> &voxels) const {
    constexpr size_t W = Bricks::Width;
    const Bricks &b = *bricks;
    size_t n = parts[0] * parts[1] * parts[2];
    Bounds out{ std::vector<double>(n), std::vector<double>(n) };
    with_type(*this, [&](auto *p) {
        using Key = decltype(p->key());
        struct Range {
            Key least, most;
            void add(const Range &r) {
                least = std::min(least, r.least), most = std::max(most, r.most);
            }
        };
        auto range_of = [&](size_t place) {
            Range r{ p[place * channels].key(), p[place * channels].key() };
            for (size_t c = 1; c < channels; ++c)
                r.add({ p[place * channels + c].key(), p[place * channels + c].key() });
            return r;
        };
        std::vector<Range> of_brick(b.stored);
        jit::parallel_blocks(b.stored, 256, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; ++i) {
                Range r = range_of(i * Bricks::Voxels);
                for (size_t k = 1; k < Bricks::Voxels; ++k)
                    r.add(range_of(i * Bricks::Voxels + k));
                of_brick[i] = r;
            }
        });

        // The voxels of a part along an axis, brick by brick
        struct Piece {
            size_t brick;
            std::vector<size_t> local;
        };
        std::array<std::vector<std::vector<Piece>>, 3> pieces;
        for (size_t a = 0; a < 3; ++a)
            for (const std::vector<size_t> &part : voxels[a]) {
                std::vector<Piece> &to = pieces[a].emplace_back();
                for (size_t v : part) {
                    size_t at = v + b.first[a];
                    if (to.empty() || to.back().brick != at / W)
                        to.push_back({ at / W, {} });
                    to.back().local.push_back(at % W);
                }
            }
        jit::parallel_blocks(n, 1, [&](uint64_t part, uint64_t) {
            std::optional<Range> all;
            auto add = [&](const Range &r) { all ? all->add(r) : void(all = r); };
            for (const Piece &z : pieces[2][part / parts[0] / parts[1]])
                for (const Piece &y : pieces[1][part / parts[0] % parts[1]])
                    for (const Piece &x : pieces[0][part % parts[0]]) {
                        size_t i =
                            b.index.get()[(z.brick * b.count[1] + y.brick) * b.count[0] + x.brick];
                        const Range &r = of_brick[i];
                        bool is_whole =
                            x.local.size() * y.local.size() * z.local.size() == Bricks::Voxels;
                        if (is_whole || r.least == r.most) {
                            add(r);
                            continue;
                        }
                        if (all && all->most >= r.most && all->least <= r.least)
                            continue;
                        for (size_t w : z.local)
                            for (size_t v : y.local)
                                for (size_t u : x.local)
                                    add(range_of(i * Bricks::Voxels + (w * W + v) * W + u));
                    }
            out.least[part] = p->value(all->least);
            out.most[part] = p->value(all->most);
        });
        return 0;
    });
    return out;
}

Voxels::Bounds Voxels::bounds(std::array<size_t, 3> parts, bool blended,
                              const std::string &wrap) const {
    std::array<std::vector<std::vector<size_t>>, 3> of;
    for (size_t a = 0; a < 3; ++a)
        of[a] = voxels_of_parts(parts[a], size[a], blended, wrap);
    if (bricks)
        return bounds_of_bricks(parts, of);
    size_t n = parts[0] * parts[1] * parts[2];
    Bounds out{ std::vector<double>(n), std::vector<double>(n) };
    with_type(*this, [&](auto *p) {
        using Key = decltype(p->key());
        jit::parallel_blocks(parts[2] * parts[1], 1, [&](uint64_t row, uint64_t) {
            std::vector<Key> least(size[0]), most(size[0]); // of the row's part of y and z, along x
            bool is_first = true;
            for (size_t z : of[2][row / parts[1]])
                for (size_t y : of[1][row % parts[1]]) {
                    auto *from = p + (z * size[1] + y) * size[0] * channels;
                    for (size_t x = 0; x < size[0]; ++x) {
                        Key low = from[x * channels].key(), high = low;
                        for (size_t c = 1; c < channels; ++c) {
                            low = std::min(low, from[x * channels + c].key());
                            high = std::max(high, from[x * channels + c].key());
                        }
                        least[x] = is_first ? low : std::min(least[x], low);
                        most[x] = is_first ? high : std::max(most[x], high);
                    }
                    is_first = false;
                }
            for (size_t k = 0; k < parts[0]; ++k) {
                Key low = least[of[0][k][0]], high = most[of[0][k][0]];
                for (size_t x : of[0][k]) {
                    low = std::min(low, least[x]);
                    high = std::max(high, most[x]);
                }
                out.least[row * parts[0] + k] = p->value(low);
                out.most[row * parts[0] + k] = p->value(high);
            }
        });
        return 0;
    });
    return out;
}

namespace {

[[noreturn]] void bad(const std::string &name, const std::string &what) {
    fail("{}: {}", name, what);
}
[[noreturn]] void no_volume(const std::string &name) {
    bad(name, "is no volume: it does not begin with VOL and a head of 48 bytes");
}

/// What a file says of itself, `size` bytes in all.
struct Head {
    Voxels voxels; // without numbers
    bool are_directions;
    size_t bytes; // of the numbers
};
Head read_head(const char *head, size_t size, const std::string &name) {
    if (size < VoxelHeadSize || std::memcmp(head, "VOL", 3) != 0)
        no_volume(name);
    if (head[3] != 3)
        bad(name, fmt::format("is of version {}; only 3 can be read", int(head[3])));
    int32_t numbers[5];
    float box[6];
    std::memcpy(numbers, head + 4, sizeof(numbers));
    std::memcpy(box, head + 24, sizeof(box));
    auto [kind, x, y, z, channels] = numbers;
    if (kind < 1 || kind > 4)
        bad(name, fmt::format("has the encoding {}; there are 1, floats, 2, halves, 3, bytes, and "
                              "4, directions",
                              kind));
    double all = double(x) * y * z * channels;
    if (x < 1 || y < 1 || z < 1 || channels < 1 || channels > 64)
        bad(name,
            fmt::format("says at bytes 8 to 23 that it has {} x {} x {} voxels of {} channels, "
                        "which cannot be; repair or replace the file",
                        x, y, z, channels));
    if (all >= 0x1p31)
        bad(name,
            fmt::format("says at bytes 8 to 23 that it has {} x {} x {} voxels of {} channels; "
                        "fewer than 2^31 numbers can be used: crop or resample it",
                        x, y, z, channels));
    if (kind == 4 && channels != 3)
        bad(name, fmt::format("has directions of {} channels; they have 3", channels));
    Head h{ {}, kind == 4, 0 };
    Voxels &v = h.voxels;
    v.size = { size_t(x), size_t(y), size_t(z) };
    v.channels = size_t(channels);
    std::copy_n(box, 6, v.box.begin());
    v.type = kind == 1 ? jit::Type::F32 : kind == 2 ? jit::Type::F16 : jit::Type::U8;
    h.bytes = kind == 4 ? 2 * (v.count() / 3) : v.count() * jit::bytes(v.type);
    if (size - VoxelHeadSize < h.bytes)
        bad(name, fmt::format("ends early: {} numbers need {} bytes, and {} are there", v.count(),
                              h.bytes, size - VoxelHeadSize));
    return h;
}

Voxels with_numbers(Head h, std::shared_ptr<const void> data, const std::string &name) {
    Voxels &v = h.voxels;
    v.data = std::move(data);
    if (h.are_directions)
        decode_directions(v);
    if (auto i = v.find_not_finite())
        bad(name, fmt::format("the number at byte {} is not finite; repair or replace the file",
                              VoxelHeadSize + *i * jit::bytes(v.type)));
    return std::move(v);
}

} // namespace

Voxels read_voxels(const std::filesystem::path &file) {
    std::string name = file.string();
    std::error_code error;
    auto size = size_t(std::filesystem::file_size(file, error));
    if (error)
        bad(name, "cannot be read: " + error.message());
    if (size < VoxelHeadSize)
        no_volume(name);
    char bytes[VoxelHeadSize];
    {
        Descriptor f{ ::open(file.c_str(), O_RDONLY | O_CLOEXEC) };
        if (f.fd < 0 || ::pread(f.fd, bytes, VoxelHeadSize, 0) != ssize_t(VoxelHeadSize))
            bad(name, "cannot be read");
    }
    Head head = read_head(bytes, size, name);
    auto data = contents(file, VoxelHeadSize + head.bytes, VoxelHeadSize);
    return with_numbers(std::move(head), std::move(data), name);
}

Voxels decode_voxels(std::string bytes, const std::string &name) {
    Head head = read_head(bytes.data(), bytes.size(), name);
    auto kept = std::make_shared<std::string>(std::move(bytes));
    return with_numbers(std::move(head), { kept, kept->data() + VoxelHeadSize }, name);
}

template <class T>
Voxels voxels_from(std::array<size_t, 3> size, size_t channels, std::vector<T> numbers) {
    Voxels v;
    v.size = size;
    v.channels = channels;
    v.type = std::is_same_v<T, double> ? jit::Type::F64 : jit::Type::F32;
    check_eq(v.count(), numbers.size());
    auto kept = std::make_shared<std::vector<T>>(std::move(numbers));
    v.data = { kept, kept->data() };
    return v;
}
template Voxels voxels_from(std::array<size_t, 3>, size_t, std::vector<float>);
template Voxels voxels_from(std::array<size_t, 3>, size_t, std::vector<double>);

} // namespace umbel
