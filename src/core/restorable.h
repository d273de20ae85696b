// core/restorable.h: arrays of the host that make room while something else holds their numbers.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace umbel {

/// A vector whose elements can be given up, and come back when they are next asked for, or that many share as long as they
/// only read. Its size is known all the time. Scenes have hundreds of thousands: it is one word, and nothing if it is empty.
template <class T> class Restorable {
public:
    Restorable() = default;
    Restorable(const Restorable &o) { own().data = o.get(); }
    Restorable &operator=(const Restorable &o) { return *this = std::vector<T>(o.get()); }
    Restorable &operator=(std::vector<T> v) {
        fresh().data = std::move(v);
        return *this;
    }
    Restorable &operator=(std::initializer_list<T> v) { return *this = std::vector<T>(v); }
    ~Restorable() { delete block(); }

    /// The elements. For loops, and before threads share them.
    std::vector<T> &get() {
        if (const std::vector<T> *shared = shared_one()) {
            std::vector<T> copy = *shared;
            fresh().data = std::move(copy);
        }
        restore();
        return own().data;
    }
    const std::vector<T> &get() const {
        restore();
        if (const std::vector<T> *shared = shared_one())
            return *shared;
        static const std::vector<T> none;
        return block() ? block()->data : none;
    }
    operator const std::vector<T> &() const { return get(); }

    /// Frees the memory. `restore` makes the elements again; they are only read until then.
    void give_up(std::function<std::vector<T>()> restore) const {
        Block *b = block();
        if (!b || b->is_away || b->data.empty())
            return;
        b->away = std::make_unique<Away>(Away{ b->data.size(), std::move(restore) });
        std::vector<T>().swap(b->data);
        b->is_away = true;
    }
    bool is_away() const { return block() && block()->is_away; }
    /// Has these elements, which outlive it, until somebody asks for his own to change them.
    void share(const std::vector<T> &elements) {
        delete block();
        m_state = reinterpret_cast<uintptr_t>(&elements) | SharedBit;
    }

    size_t size() const {
        if (const std::vector<T> *shared = shared_one())
            return shared->size();
        const Block *b = block();
        return !b ? 0 : b->is_away ? b->away->size : b->data.size();
    }
    bool empty() const { return size() == 0; }
    T &operator[](size_t i) { return get()[i]; }
    const T &operator[](size_t i) const { return get()[i]; }
    auto begin() { return get().begin(); }
    auto begin() const { return get().begin(); }
    auto end() { return get().end(); }
    auto end() const { return get().end(); }
    void clear() {
        if (m_state)
            fresh().data.clear();
    }
    void resize(size_t n) { get().resize(n); }
    void reserve(size_t n) { get().reserve(n); }
    void assign(size_t n, T v) { fresh().data.assign(n, v); }
    void push_back(T v) { get().push_back(v); }
    template <class It, class From> void insert(It at, From first, From last) {
        get().insert(at, first, last);
    }
    template <class It> void insert(It at, std::initializer_list<T> v) { get().insert(at, v); }
    friend bool operator==(const Restorable &a, const Restorable &b) { return a.get() == b.get(); }
    friend bool operator==(const Restorable &a, const std::vector<T> &b) { return a.get() == b; }

private:
    struct Away {
        size_t size;
        std::function<std::vector<T>()> restore;
    };
    struct Block {
        std::vector<T> data;
        std::unique_ptr<Away> away; // while the elements are
        std::atomic<bool> is_away = false;
    };
    static constexpr uintptr_t SharedBit = 1;

    Block *block() const {
        return m_state & SharedBit ? nullptr : reinterpret_cast<Block *>(m_state);
    }
    const std::vector<T> *shared_one() const {
        return m_state & SharedBit ? reinterpret_cast<const std::vector<T> *>(m_state & ~SharedBit)
                                   : nullptr;
    }
    Block &own() { // of one that shares nothing
        if (!m_state)
            m_state = reinterpret_cast<uintptr_t>(new Block);
        return *block();
    }
    /// Without elements. References to the vector stay valid, unless it was a shared one.
    Block &fresh() {
        if (shared_one())
            m_state = 0;
        Block &b = own();
        b.is_away = false;
        b.away.reset();
        return b;
    }
    void restore() const {
        Block *b = block();
        if (!b || !b->is_away)
            return;
        static std::mutex mutex; // of all: rarely waited for
        std::lock_guard lock(mutex);
        if (!b->is_away)
            return;
        b->data = b->away->restore();
        b->is_away = false; // the record stays: another thread may be looking at its size
    }

    uintptr_t m_state = 0; // a Block, a shared vector with SharedBit set, or nothing
};

} // namespace umbel
