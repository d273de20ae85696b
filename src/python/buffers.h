// python/buffers.h: memory that other Python libraries own, and ours as they see it.
#pragma once
#include "python/objects.h"
#include <memory>

namespace umbel::python {

/// The array behind an object that offers its memory: NumPy's, memoryview's, PyTorch's, JAX's.
/// False in a condition where the object offers none.
class Foreign {
public:
    explicit Foreign(PyObject *o);
    Foreign(const Foreign &) = delete;
    ~Foreign();
    explicit operator bool() const { return m_view.obj != nullptr || m_on_device; }
    /// All elements in C order. In place where the layout allows it, unless a copy is asked for.
    Value read(bool copy = false);

    Type type = Type::Void;
    std::vector<size_t> shape;

private:
    bool take_from_device(PyObject *o);

    Py_buffer m_view{};
    struct OnDevice;
    std::shared_ptr<OnDevice> m_on_device; // memory of the GPU that arrays are computed on
};

/// Lets go of foreign memory that kernels no longer use. Their threads must not wait for the
/// interpreter's lock, so they leave it to the next call from Python.
void release_foreign();

} // namespace umbel::python
