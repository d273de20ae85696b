// python/jit_buffers.cpp: arrays in memory of others, without a copy where the layout agrees.
#include "jit/cuda/sharing.h"
#include "jit/device_memory.h"
#include "python/buffers.h"
#include "python/waiting.h"
#include <atomic>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

namespace umbel::python {

namespace {

std::mutex g_mutex;
std::vector<std::function<void()>> g_released;
std::atomic<bool> g_waiting = false;

Type type_of_format(const char *format, Py_ssize_t size) {
    if (!format)
        return Type::U8;
    if (*format == '@' || *format == '=' || *format == '<' || *format == '|')
        ++format;
    if (format[0] == 0 || format[1] != 0)
        return Type::Void;
    bool known = true, is_signed = false;
    switch (*format) {
    case '?': return Type::Bool;
    case 'e': return Type::F16;
    case 'f': return Type::F32;
    case 'd': return Type::F64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': is_signed = true; break;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': break;
    default: known = false;
    }
    if (!known)
        return Type::Void;
    switch (size) {
    case 1: return is_signed ? Type::I8 : Type::U8;
    case 2: return is_signed ? Type::I16 : Type::U16;
    case 4: return is_signed ? Type::I32 : Type::U32;
    default: return is_signed ? Type::I64 : Type::U64;
    }
}

// Objects of libraries that know DLPack or __array__ alone, as a NumPy array; a new reference or null.
PyObject *as_numpy(PyObject *o) {
    if (!PyObject_HasAttrString(o, "__dlpack__") && !PyObject_HasAttrString(o, "__array__"))
        return nullptr;
    PyObject *array = PyObject_CallOneArg(hook("foreign_array"), o);
    if (!array)
        throw PythonError();
    return array;
}

// Runs `release` when a thread has the interpreter's lock.
void release_later(std::function<void()> release) {
    std::lock_guard lock(g_mutex);
    g_released.push_back(std::move(release));
    g_waiting = true;
}

constexpr int Cuda = 2; // DLPack's number of such devices

} // namespace

// ---- Memory of the GPU

struct Foreign::OnDevice {
    nb::ndarray<nb::ro> array;
};

// Arrays of the same GPU, of which elements are in C order. Others are read through the host.
bool Foreign::take_from_device(PyObject *o) {
    jit::Device *device = context().backend().device();
    if (!device || !PyObject_HasAttrString(o, "__dlpack_device__"))
        return false;
    nb::handle h(o);
    nb::tuple where = nb::cast<nb::tuple>(h.attr("__dlpack_device__")());
    if (nb::cast<int>(where[0]) != Cuda ||
        nb::cast<int>(where[1]) != jit::cuda_device_number(*device))
        return false;
    // What its library has queued is put before the default stream, and that is waited for
    nb::object source = nb::borrow(h);
    if (nb::hasattr(h, "detach"))
        source = h.attr("detach")(); // of PyTorch
    nb::object capsule = source.attr("__dlpack__")(nb::arg("stream") = 1);
    jit::wait_for_default_stream(*device);
    auto found = std::make_shared<OnDevice>(OnDevice{ nb::cast<nb::ndarray<nb::ro>>(capsule) });
    const nb::ndarray<nb::ro> &a = found->array;
    int64_t step = 1;
    for (size_t k = a.ndim(); k-- > 0; step *= int64_t(a.shape(k)))
        if (a.shape(k) > 1 && a.stride(k) != step)
            return false;
    bool is_signed = a.dtype().code == uint8_t(nb::dlpack::dtype_code::Int);
    auto by_width = [&](Type one, Type two, Type four, Type eight) {
        return a.dtype().bits == 8    ? one
               : a.dtype().bits == 16 ? two
               : a.dtype().bits == 32 ? four
                                      : eight;
    };
    switch (nb::dlpack::dtype_code(a.dtype().code)) {
    case nb::dlpack::dtype_code::Bool: type = Type::Bool; break;
    case nb::dlpack::dtype_code::Float:
        type = by_width(Type::Void, Type::F16, Type::F32, Type::F64);
        break;
    case nb::dlpack::dtype_code::Int:
    case nb::dlpack::dtype_code::UInt:
        type = is_signed ? by_width(Type::I8, Type::I16, Type::I32, Type::I64)
                         : by_width(Type::U8, Type::U16, Type::U32, Type::U64);
        break;
    default: type = Type::Void; // bfloat16, complex numbers
    }
    if (type == Type::Void || a.dtype().lanes != 1)
        return false;
    for (size_t k = 0; k < a.ndim(); ++k)
        shape.push_back(a.shape(k));
    m_on_device = std::move(found);
    return true;
}

// ---- Memory of the host

Foreign::Foreign(PyObject *o) {
    if (PyUnicode_Check(o) || PyBytes_Check(o) || PyList_Check(o) || PyTuple_Check(o))
        return;
    if (take_from_device(o))
        return;
    PyObject *owned = nullptr;
    if (!PyObject_CheckBuffer(o)) {
        owned = as_numpy(o);
        if (!owned)
            return;
        o = owned;
    }
    int rc = PyObject_GetBuffer(o, &m_view, PyBUF_STRIDES | PyBUF_FORMAT);
    Py_XDECREF(owned);
    if (rc != 0)
        throw PythonError();
    type = type_of_format(m_view.format, m_view.itemsize);
    if (type == Type::Void) {
        std::string format = m_view.format;
        PyBuffer_Release(&m_view);
        raise(PyExc_TypeError, fmt::format("an array whose elements have the format \"{}\" cannot "
                                           "be used; convert it to a type of number",
                                           format));
    }
    shape.assign(m_view.shape, m_view.shape + m_view.ndim);
}

Foreign::~Foreign() {
    if (m_view.obj)
        PyBuffer_Release(&m_view);
}

Value Foreign::read(bool copy) {
    release_foreign();
    size_t n = 1;
    for (size_t s : shape)
        n *= s;
    if (n == 0)
        return {};
    if (n > UINT32_MAX)
        fail("an array of {} elements is too large: the limit is 2^32 - 1", n);
    Context &c = context();
    if (m_on_device) {
        jit::Device &device = *c.backend().device();
        uint64_t bytes = n * jit::bytes(type);
        auto address = reinterpret_cast<uintptr_t>(m_on_device->array.data());
        auto *held = new std::shared_ptr<OnDevice>(m_on_device);
        jit::DeviceOwner owner{
            &device, address,
            [held, &device] {
                release_later([held, &device] {
                    {
                        nb::gil_scoped_release
                            others_may_run;             // as what is waited for may call Python
                        jit::wait_for_launched(device); // kernels may still read it
                    }
                    delete held;
                });
            }
        };
        Value v =
            Value::adopt(c, c.graph.buffer(type, jit::borrow(nullptr, bytes, owner), uint32_t(n)));
        if (!copy)
            return v;
        Value own = jit::gather(v, jit::lane_index(n), jit::literal(Type::Bool, 1));
        jit::eval(own);
        wait_for(c); // the other library may write to it as soon as this returns
        return own;
    }
    bool aligned = reinterpret_cast<uintptr_t>(m_view.buf) % jit::bytes(type) == 0;
    if (copy || !PyBuffer_IsContiguous(&m_view, 'C') || !aligned) {
        std::vector<uint8_t> data(size_t(m_view.len));
        if (PyBuffer_ToContiguous(data.data(), &m_view, m_view.len, 'C') != 0)
            throw PythonError();
        return jit::copy_from(type, data.data(), n);
    }
    auto *view = new Py_buffer(m_view);
    Py_buffer moved{};
    std::swap(moved, m_view); // the buffer now belongs to the value
    return jit::borrow_from(type, view->buf, n, [view] {
        release_later([view] {
            PyBuffer_Release(view);
            delete view;
        });
    });
}

void release_foreign() {
    if (!g_waiting)
        return;
    std::vector<std::function<void()>> list;
    {
        std::lock_guard lock(g_mutex);
        list.swap(g_released);
        g_waiting = false;
    }
    for (const std::function<void()> &release : list)
        release();
}

} // namespace umbel::python
