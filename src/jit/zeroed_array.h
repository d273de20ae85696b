// jit/zeroed_array.h: a large array of zeros, whose pages take memory only where something was written.
#pragma once
#include "jit/error.h"
#include <cstddef>
#include <sys/mman.h>
#include <type_traits>
#include <utility>

namespace umbel::jit {

template <class T> class ZeroedArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    ZeroedArray() = default;
    explicit ZeroedArray(size_t size) : m_size(size) {
        void *p = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            throw DeviceError(
                fmt::format("out of memory: {} MiB more are not there", size * sizeof(T) >> 20));
        m_data = static_cast<T *>(p);
    }
    ZeroedArray(ZeroedArray &&o) noexcept
        : m_data(std::exchange(o.m_data, nullptr)), m_size(std::exchange(o.m_size, 0)) {}
    ZeroedArray &operator=(ZeroedArray &&o) noexcept {
        std::swap(m_data, o.m_data);
        std::swap(m_size, o.m_size);
        return *this;
    }
    ~ZeroedArray() {
        if (m_data)
            munmap(m_data, m_size * sizeof(T));
    }

    size_t size() const { return m_size; }
    T &operator[](size_t i) { return m_data[i]; }
    const T &operator[](size_t i) const { return m_data[i]; }

private:
    T *m_data = nullptr;
    size_t m_size = 0;
};

} // namespace umbel::jit
