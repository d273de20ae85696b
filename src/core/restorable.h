// core/restorable.h: arrays of the host that make room while something else holds their numbers.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace umbel {

/// A vector whose elements can be given up, and come back when they are next asked for. Its size is known all the time.
template <class T> class Restorable {
public:
    Restorable() = default;
    Restorable(const Restorable &o) : m_data(o.get()) {}
    Restorable &operator=(const Restorable &o) { return *this = std::vector<T>(o.get()); }
    Restorable &operator=(std::vector<T> v) {
        forget();
        m_data = std::move(v);
        return *this;
    }
    Restorable &operator=(std::initializer_list<T> v) { return *this = std::vector<T>(v); }

    /// The elements. For loops, and before threads share them.
    std::vector<T> &get() {
        restore();
        return m_data;
    }
    const std::vector<T> &get() const {
        restore();
        return m_data;
    }
    operator const std::vector<T> &() const { return get(); }

    /// Frees the memory. `restore` makes the elements again; they are only read until then.
    void give_up(std::function<std::vector<T>()> restore) const {
        if (m_is_away || m_data.empty())
            return;
        m_size = m_data.size();
        m_restore = std::move(restore);
        std::vector<T>().swap(m_data);
        m_is_away = true;
    }
    bool is_away() const { return m_is_away; }

    size_t size() const { return m_is_away ? m_size : m_data.size(); }
    bool empty() const { return size() == 0; }
    T &operator[](size_t i) { return get()[i]; }
    const T &operator[](size_t i) const { return get()[i]; }
    auto begin() { return get().begin(); }
    auto begin() const { return get().begin(); }
    auto end() { return get().end(); }
    auto end() const { return get().end(); }
    void clear() {
        forget();
        m_data.clear();
    }
    void resize(size_t n) { get().resize(n); }
    void reserve(size_t n) { get().reserve(n); }
    void assign(size_t n, T v) {
        forget();
        m_data.assign(n, v);
    }
    void push_back(T v) { get().push_back(v); }
    template <class It, class From> void insert(It at, From first, From last) {
        get().insert(at, first, last);
    }
    template <class It> void insert(It at, std::initializer_list<T> v) { get().insert(at, v); }
    friend bool operator==(const Restorable &a, const Restorable &b) { return a.get() == b.get(); }
    friend bool operator==(const Restorable &a, const std::vector<T> &b) { return a.get() == b; }

private:
    void restore() const {
        if (!m_is_away)
            return;
        std::lock_guard lock(m_mutex);
        if (!m_is_away)
            return;
        m_data = m_restore();
        m_restore = nullptr;
        m_is_away = false;
    }
    void forget() {
        m_restore = nullptr;
        m_is_away = false;
    }

    mutable std::vector<T> m_data;
    mutable std::atomic<bool> m_is_away = false;
    mutable std::mutex m_mutex;
    mutable size_t m_size = 0;
    mutable std::function<std::vector<T>()> m_restore;
};

} // namespace umbel
