// python/render_block.cpp: blocks of an image, as scripts add samples to them.
#include "jit/array.h"
#include "python/arrays.h"
#include "python/helpers.h"
#include "python/render_plugins.h"
#include "python/render_records.h"
#include "render/image_block.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

std::vector<Float> three_colours(std::vector<Float> channels) {
    if (variant().colour == Colour::Mono)
        channels.insert(channels.begin(), 2, channels[0]);
    return channels;
}

namespace {

struct Block : ImageBlock {
    nb::object tensor; // the object itself: scripts may change it
    bool warn_negative = false, warn_invalid = false;

    Float pixels() const { return Float(as_tensor(as_array(tensor.ptr()))->v[0]); }
    void set(const Float &pixels) {
        tensor = steal(wrap_tensor(tensor_class(pixels.type()), pixels,
                                   { size_t(full_height()), size_t(full_width()), channels }));
    }
    void clear() {
        enter();
        uint64_t count = uint64_t(full_width()) * uint64_t(full_height()) * channels;
        if (width < 0 || height < 0 || count > 0xffffffffu)
            fail("a block cannot have {} x {} pixels with {} channels", width, height, channels);
        set(Float(jit::full(variant().float_type(), 0, count)));
    }
};

struct Pair {
    int x, y;
    explicit Pair(nb::handle h) : x(entry(h, 0)), y(entry(h, 1)) {}
    static int entry(nb::handle h, int i) { return nb::cast<int>(nb::int_(nb::object(h[i]))); }
};

nb::object pair_of(const char *type, int x, int y) {
    return from_package("_variant_types.resolve")(type)(x, y);
}

// ---- construction

/// Defaults depend on whether many samples are put at once.
bool or_single(std::optional<bool> given) {
    enter();
    return given.value_or(variant().backend == "interp");
}

struct Options {
    Ref<Filter> filter;
    std::optional<bool> border;
    bool normalize;
    std::optional<bool> warn_negative, warn_invalid;
};
Block begin(nb::handle offset, const Options &o) {
    Block b;
    Pair at(offset);
    b.x = at.x;
    b.y = at.y;
    b.filter = o.filter;
    b.border = o.filter && or_single(o.border) ? o.filter->border_size() : 0;
    b.normalize = o.normalize;
    b.warn_negative = or_single(o.warn_negative);
    b.warn_invalid = or_single(o.warn_invalid);
    return b;
}

void from_size(Block *self, nb::handle size, nb::handle offset, uint32_t channel_count,
               Ref<Filter> rfilter, std::optional<bool> border, bool normalize,
               std::optional<bool> warn_negative, std::optional<bool> warn_invalid) {
    Block b = begin(offset, { rfilter, border, normalize, warn_negative, warn_invalid });
    Pair s(size);
    b.width = s.x;
    b.height = s.y;
    b.channels = channel_count;
    b.clear();
    new (self) Block(std::move(b));
}

void from_tensor(Block *self, nb::handle tensor, nb::handle offset, Ref<Filter> rfilter,
                 std::optional<bool> border, bool normalize, std::optional<bool> warn_negative,
                 std::optional<bool> warn_invalid) {
    Block b = begin(offset, { rfilter, border, normalize, warn_negative, warn_invalid });
    b.tensor = steal(convert(tensor_class(variant().float_type()), tensor.ptr()));
    const std::vector<size_t> &shape = as_tensor(as_array(b.tensor.ptr()))->shape;
    if (shape.size() != 3)
        fail("ImageBlock: a tensor of {} dimensions; it must have rows, columns and channels",
             shape.size());
    b.width = int(shape[1]) - 2 * b.border;
    b.height = int(shape[0]) - 2 * b.border;
    b.channels = uint32_t(shape[2]);
    if (b.width < 0 || b.height < 0)
        fail("ImageBlock: a tensor of {} x {} pixels has no room for a border of {}", shape[1],
             shape[0], b.border);
    new (self) Block(std::move(b));
}

// ---- samples

void warn_of(const Block &b, const std::vector<Float> &values, const Mask &active) {
    auto check_for = [&](const char *word, const auto &is_wrong) {
        for (const Float &v : values)
            if (jit::any(active & is_wrong(Float(v.detached())))) {
                nb::object level = from_package("_logging.LogLevel").attr("Warn");
                from_package("_logging.Log")(
                    level, nb::str("ImageBlock.put(): {} sample values: {}")
                               .attr("format")(word, nb::cast(Float(v.detached()))));
                return;
            }
    };
    if (b.warn_negative)
        check_for("negative", [](const Float &v) { return v < -1e-5; });
    if (b.warn_invalid)
        check_for("invalid", [](const Float &v) {
            return !(abs(v) < std::numeric_limits<double>::infinity());
        });
}

void put(Block &b, const Vector2 &pos, const std::vector<Float> &values, const Mask &active) {
    warn_of(b, values, active);
    b.set(b.put(b.pixels(), pos, values, active));
}

void put_colour(Block &b, const Vector2 &pos, nb::handle wavelengths, const Spectrum &value,
                const Float &alpha, const Float &weight, const Mask &active) {
    if (b.channels != 4 && b.channels != 5)
        fail("put: a colour fills blocks of 4 or 5 channels, not of {}", b.channels);
    Wavelengths w;
    if (variant().colour == Colour::Spectral)
        field_from_python(wavelengths, w);
    std::vector<Float> values = three_colours(to_rgb(unpolarized(value), w));
    if (b.channels == 5)
        values.push_back(alpha);
    values.push_back(weight);
    put(b, pos, values, active);
}

// ---- the class

void bind_values(nb::class_<Block> &c) {
    c.def(
         "tensor", [](const Block &b) { return b.tensor; },
         "The values: rows, columns (with the border) and channels")
        .def("clear", &Block::clear, "Sets all values to zero")
        .def("put", put, nb::arg("pos"), nb::arg("values"), nb::arg("active") = true,
             "Adds samples, given by all channels")
        .def("put", put_colour, nb::arg("pos"), nb::arg("wavelengths"), nb::arg("value"),
             nb::arg("alpha") = 1.0, nb::arg("weight") = 1.0, nb::arg("active") = true,
             "Adds samples of a colour, to blocks of R, G, B, (alpha,) weight")
        .def(
            "read",
            [](const Block &b, const Vector2 &pos, const Mask &active) {
                return b.read(b.pixels(), pos, active);
            },
            nb::arg("pos"), nb::arg("active") = true,
            "The values around positions, weighted by the filter: a list of channels")
        .def(
            "put_block",
            [](Block &b, const Block &other) { b.set(b.add(b.pixels(), other, other.pixels())); },
            nb::arg("block"),
            "Adds the values of another block where the two overlap, by their offsets")
        .def("_means", [](const Block &b, const std::vector<uint32_t> &kept, uint32_t weight) {
            return b.means(b.pixels(), kept, weight);
        });
}

void bind_shape(nb::class_<Block> &c) {
    c.def("size", [](const Block &b) { return pair_of("ScalarVector2u", b.width, b.height); })
        .def(
            "set_size",
            [](Block &b, nb::handle size) {
                Pair s(size);
                if (s.x == b.width && s.y == b.height)
                    return;
                b.width = s.x;
                b.height = s.y;
                b.clear();
            },
            nb::arg("size"), "Changes the size; the values are zero from then on")
        .def("offset", [](const Block &b) { return pair_of("ScalarPoint2i", b.x, b.y); })
        .def(
            "set_offset",
            [](Block &b, nb::handle offset) {
                Pair at(offset);
                b.x = at.x;
                b.y = at.y;
            },
            nb::arg("offset"))
        .def("width", [](const Block &b) { return b.width; })
        .def("height", [](const Block &b) { return b.height; })
        .def("channel_count", [](const Block &b) { return b.channels; })
        .def("border_size", [](const Block &b) { return b.border; })
        .def("has_border", [](const Block &b) { return b.border > 0; })
        .def("rfilter", [](const Block &b) {
            return to_python(static_cast<const SceneObject *>(b.filter.get()));
        });
}

void bind_switch(nb::class_<Block> &c, const char *name, const char *set, bool Block::*flag) {
    c.def(name, [flag](const Block &b) { return b.*flag; });
    c.def(set, [flag](Block &b, bool value) { b.*flag = value; }, nb::arg("value"));
}

} // namespace

void bind_blocks(nb::module_ &m) {
    nb::class_<Block> c(
        m, "ImageBlock",
        "A rectangle of pixels with a border that the filter reaches.\n\n"
        "    block = ImageBlock(size=[64, 64], offset=[0, 0], channel_count=4, "
        "rfilter=film.rfilter())\n"
        "    block.put(pos, [r, g, b, weight])\n\n"
        "`put` adds values around positions, `read` interpolates; both are differentiable. "
        "`normalize` makes the weights of each sample add up to one. `warn_negative` and "
        "`warn_invalid` look at what is put, which evaluates it, and log a warning.");
    nb::object none = nb::none(), origin = nb::make_tuple(0, 0);
    c.def("__init__", from_size, nb::arg("size"), nb::arg("offset") = origin,
          nb::arg("channel_count"), nb::arg("rfilter").none() = none, nb::arg("border") = none,
          nb::arg("normalize") = false, nb::arg("warn_negative") = none,
          nb::arg("warn_invalid") = none);
    c.def("__init__", from_tensor, nb::arg("tensor"), nb::arg("offset") = origin,
          nb::arg("rfilter").none() = none, nb::arg("border") = none, nb::arg("normalize") = false,
          nb::arg("warn_negative") = none, nb::arg("warn_invalid") = none);
    bind_shape(c);
    bind_values(c);
    bind_switch(c, "normalize", "set_normalize", &Block::normalize);
    bind_switch(c, "warn_negative", "set_warn_negative", &Block::warn_negative);
    bind_switch(c, "warn_invalid", "set_warn_invalid", &Block::warn_invalid);
    c.def("__repr__", [](const Block &b) {
        return fmt::format("ImageBlock[\n  offset = [{}, {}],\n  size = [{}, {}],\n  channel_count "
                           "= {},\n  border_size = {},\n  normalize = {}\n]",
                           b.x, b.y, b.width, b.height, b.channels, b.border, b.normalize);
    });
}

} // namespace umbel::python
