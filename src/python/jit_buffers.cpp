// python/jit_buffers.cpp: arrays in memory of others, without a copy where the layout agrees.
#include "python/buffers.h"
#include <atomic>
#include <mutex>

namespace umbel::python {

namespace {

std::mutex g_mutex;
std::vector<Py_buffer *> g_released;
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

} // namespace

Foreign::Foreign(PyObject *o) {
    if (PyUnicode_Check(o) || PyBytes_Check(o) || PyList_Check(o) || PyTuple_Check(o))
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
    context();
    bool aligned = reinterpret_cast<uintptr_t>(m_view.buf) % jit::bytes(type) == 0;
    if (copy || !PyBuffer_IsContiguous(&m_view, 'C') || !aligned) {
        std::vector<uint8_t> data(size_t(m_view.len));
        if (PyBuffer_ToContiguous(data.data(), &m_view, m_view.len, 'C') != 0)
            throw PythonError();
        return jit::copy_from(type, data.data(), uint32_t(n));
    }
    auto *view = new Py_buffer(m_view);
    Py_buffer moved{};
    std::swap(moved, m_view); // the buffer now belongs to the value
    return jit::borrow_from(type, view->buf, uint32_t(n), [view] {
        std::lock_guard lock(g_mutex);
        g_released.push_back(view);
        g_waiting = true;
    });
}

void release_foreign() {
    if (!g_waiting)
        return;
    std::vector<Py_buffer *> list;
    {
        std::lock_guard lock(g_mutex);
        list.swap(g_released);
        g_waiting = false;
    }
    for (Py_buffer *view : list) {
        PyBuffer_Release(view);
        delete view;
    }
}

} // namespace umbel::python
