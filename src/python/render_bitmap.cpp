// python/render_bitmap.cpp: images of the host as Python's `Bitmap`.
//
// What needs pixels is here; python/umbel/_bitmap.py has the interface that scripts see and adds it to the
// class. A bitmap offers its memory through the buffer protocol: NumPy and arrays use it in place.
#include "core/file_text.h"
#include "core/image_io.h"
#include "core/image_ops.h"
#include "python/buffers.h"
#include "python/helpers.h"
#include "python/older_python.h"
#include "python/render.h"
#include <cstring>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {
namespace {

using Names = std::vector<std::string>;

// ---- the buffer protocol

struct Shape {
    Py_ssize_t shape[3], strides[3];
};

const char *format_of(Component c) {
    constexpr const char *formats[] = { "B", "H", "I", "e", "f", "d" };
    return formats[int(c)];
}

int get_buffer(PyObject *o, Py_buffer *view, int) {
    Image *image = nb::inst_ptr<Image>(o);
    auto *s = new Shape;
    auto item = Py_ssize_t(bytes(image->component()));
    auto channels = Py_ssize_t(image->channel_count());
    *s = { { Py_ssize_t(image->height()), Py_ssize_t(image->width()), channels },
           { Py_ssize_t(image->row_bytes()), channels * item, item } };
    *view = {};
    view->buf = image->bytes();
    view->obj = Py_NewRef(o);
    view->len = Py_ssize_t(image->byte_count());
    view->itemsize = item;
    view->format = const_cast<char *>(format_of(image->component()));
    view->ndim = channels == 1 ? 2 : 3;
    view->shape = s->shape;
    view->strides = s->strides;
    view->internal = s;
    return 0;
}

void release_buffer(PyObject *, Py_buffer *view) { delete static_cast<Shape *>(view->internal); }

PyType_Slot buffer_slots[] = { { Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer) },
                               { Py_bf_releasebuffer, reinterpret_cast<void *>(release_buffer) },
                               { 0, nullptr } };

// ---- making

Image image_from_memory(nb::handle data, size_t width, size_t height, Names channels, int component,
                        bool srgb) {
    Image image(width, height, std::move(channels), Component(component), srgb);
    Py_buffer view;
    if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0)
        throw nb::python_error();
    bool fits = size_t(view.len) == image.byte_count();
    if (fits && view.len)
        std::memcpy(image.bytes(), view.buf, image.byte_count());
    PyBuffer_Release(&view);
    check(fits); // _bitmap.py has compared shapes
    return image;
}

// ---- metadata

nb::dict metadata(const Image &image) {
    nb::dict d;
    for (const auto &[key, value] : image.metadata) {
        if (auto *text = std::get_if<std::string>(&value))
            d[key.c_str()] = *text;
        else if (auto *number = std::get_if<double>(&value))
            d[key.c_str()] = *number;
        else if (auto *integer = std::get_if<int64_t>(&value))
            d[key.c_str()] = *integer;
        else if (auto *v = std::get_if<std::array<double, 3>>(&value))
            d[key.c_str()] = nb::make_tuple((*v)[0], (*v)[1], (*v)[2]);
        else {
            nb::list m;
            for (double x : std::get<TransformData>(value).m)
                m.append(x);
            d[key.c_str()] = m;
        }
    }
    return d;
}

void set_metadata(Image &image, nb::dict d) {
    ImageMetadata data;
    for (auto [key, value] : d) {
        auto name = nb::cast<std::string>(key);
        if (nb::isinstance<nb::str>(value)) {
            data[name] = nb::cast<std::string>(value);
        } else if (nb::isinstance<nb::list>(value)) {
            TransformData t;
            auto m = nb::cast<std::vector<double>>(value);
            if (m.size() != t.m.size())
                fail("bitmap: metadata \"{}\" has {} numbers; a matrix has 16", name, m.size());
            std::copy(m.begin(), m.end(), t.m.begin());
            data[name] = t;
        } else if (nb::isinstance<nb::tuple>(value)) {
            data[name] = nb::cast<std::array<double, 3>>(value);
        } else if (nb::isinstance<nb::int_>(value)) {
            data[name] = nb::cast<int64_t>(value);
        } else {
            data[name] = nb::cast<double>(value);
        }
    }
    image.metadata = std::move(data);
}

// ---- operations

FilterFunction filter_of(const std::string &name, nb::object function, double radius) {
    if (name == "box")
        return box_filter();
    if (name == "tent")
        return tent_filter();
    if (name == "lanczos")
        return lanczos_filter(radius);
    return { radius, [function](double x) { return nb::cast<double>(function(x)); } };
}

ImageWriteOptions write_options(std::optional<int> quality, const std::string &compression) {
    ImageWriteOptions o;
    if (quality)
        o.quality = *quality;
    o.compression = compression;
    return o;
}

// Adds (or assigns) a rectangle of linear values, row by row.
void accumulate(Image &to, const Image &from, size_t sx, size_t sy, size_t tx, size_t ty,
                size_t width, size_t height) {
    size_t n = to.channel_count();
    std::vector<double> a(to.width() * n), b(from.width() * n);
    for (size_t y = 0; y < height; ++y) {
        to.read_row(ty + y, a.data());
        from.read_row(sy + y, b.data());
        for (size_t i = 0; i < width * n; ++i)
            a[tx * n + i] += b[sx * n + i];
        to.write_row(ty + y, a.data());
    }
}

// In place: arrays of NumPy's may share the pixels.
void rename_channel(Image &image, size_t index, const std::string &name) {
    if (int other = image.find_channel(name); other >= 0 && size_t(other) != index)
        fail("the channel {} cannot be called {} as well; choose another name",
             quote(image.channels().at(index)), quote(name));
    const_cast<std::string &>(image.channels().at(index)) = name;
}

} // namespace

void bind_bitmap(nb::module_ &m) {
    nb::class_<Image> c(m, "Bitmap", nb::type_slots(buffer_slots), nb::dynamic_attr());
    // Everything that scripts may construct one of is told apart by umbel._bitmap.
    c.def("__init__", [](Image *self, nb::args args, nb::kwargs kwargs) {
        nb::object made = nb::module_::import_("umbel._bitmap").attr("make")(*args, **kwargs);
        new (self) Image(std::move(nb::cast<Image &>(made)));
    });
    c.def("width", &Image::width, "Number of columns");
    c.def("height", &Image::height, "Number of rows");
    c.def("pixel_count", &Image::pixels);
    c.def("channel_count", &Image::channel_count);
    c.def("buffer_size", &Image::byte_count, "Size in bytes");
    c.def("srgb_gamma", &Image::srgb, "Whether colours are encoded with sRGB's transfer function");
    c.def("set_srgb_gamma", &Image::set_srgb, nb::arg("value"), "Says so; changes no pixel");
    c.def("channel_names", [](const Image &i) { return i.channels(); }, "Names of the channels");
    c.def("_rename_channel", rename_channel);
    c.def_prop_ro("_component", [](const Image &i) { return int(i.component()); });
    c.def_prop_ro("_address", [](const Image &i) { return uintptr_t(i.bytes()); });
    c.def("_metadata", metadata);
    c.def("_set_metadata", set_metadata);
    c.def("clear", [](Image &i) { std::memset(i.bytes(), 0, i.byte_count()); }, "Makes it black");

    m.def("bitmap_from_memory", image_from_memory);
    m.def("bitmap_empty", [](size_t w, size_t h, Names channels, int component, bool srgb) {
        return Image(w, h, std::move(channels), Component(component), srgb);
    });
    m.def("bitmap_copy", [](const Image &i) { return i; });
    m.def("bitmap_read", [](const std::string &path) {
        check_allowed(path);
        nb::gil_scoped_release release;
        return read_image(path);
    });
    m.def("bitmap_decode", [](nb::bytes data, const std::string &name) {
        return read_image(data.c_str(), data.size(), name);
    });
    m.def("bitmap_write", [](const Image &i, const std::string &path, std::optional<int> quality,
                             const std::string &compression) {
        nb::gil_scoped_release release;
        write_image(path, i, write_options(quality, compression));
    });
    // Whether a file of that name can be written, before anything is
    m.def("check_bitmap_file", [](const std::string &path, bool has_format) {
        if (!has_format)
            check_extension(path);
        check_writable(path);
    });
    m.def("bitmap_encode", [](const Image &i, const std::string &extension,
                              std::optional<int> quality, const std::string &compression) {
        std::string data = encode_image(extension, i, write_options(quality, compression));
        return nb::bytes(data.data(), data.size());
    });
    m.def("bitmap_extensions", image_extensions);
    m.def("bitmap_model", [](const Image &i) { return int(colour_model(i)); });
    m.def("bitmap_to_model", [](const Image &i, int model, bool alpha) {
        return to_model(i, ColourModel(model), alpha);
    });
    m.def("bitmap_convert", [](const Image &i, int component, bool srgb) {
        return convert(i, Component(component), srgb);
    });
    m.def("bitmap_premultiply", [](const Image &i) { return premultiply(i); });
    m.def("bitmap_unpremultiply", [](const Image &i) { return unpremultiply(i); });
    m.def("bitmap_layers", [](const Image &i) { return layers(i); });
    m.def("bitmap_layer",
          [](const Image &i, const std::string &name) { return select_layer(i, name); });
    m.def("bitmap_select",
          [](const Image &i, const Names &names) { return select_channels(i, names); });
    m.def(
        "bitmap_resample",
        [](const Image &i, size_t w, size_t h, const std::string &filter, nb::object function,
           double radius, int horizontal, int vertical, double low, double high) {
            return resample(i, w, h, filter_of(filter, function, radius), Boundary(horizontal),
                            Boundary(vertical), low, high);
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg());
    m.def("bitmap_crop", [](const Image &i, size_t x, size_t y, size_t w, size_t h) {
        return crop(i, x, y, w, h);
    });
    m.def("bitmap_accumulate", accumulate);
    m.def("release_foreign", release_foreign); // bitmaps that arrays used in place
    m.def("bitmap_tonemap", [](const Image &i, double exposure) {
        Tonemap options;
        options.exposure = exposure;
        return tonemap(i, options);
    });
}

} // namespace umbel::python
