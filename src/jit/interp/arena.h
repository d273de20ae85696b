// jit/interp/arena.h: a thread's stack of frames, kept from run to run so that it stays warm.
#pragma once
#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace umbel::jit {

class Arena {
public:
    static constexpr size_t Align = 64;

    Arena() = default;
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena() {
        for (Chunk &c : m_chunks)
            ::operator delete(c.data, std::align_val_t(Align));
    }

    /// Uninitialised memory, given back when the enclosing Scope ends.
    std::byte *take(size_t bytes) {
        bytes = (bytes + Align - 1) & ~(Align - 1);
        while (m_chunk < m_chunks.size() && m_used + bytes > m_chunks[m_chunk].size) {
            ++m_chunk;
            m_used = 0;
        }
        if (m_chunk == m_chunks.size()) {
            size_t size = std::max<size_t>(bytes, 1 << 20);
            void *data = ::operator new(size, std::align_val_t(Align));
            m_chunks.push_back({ static_cast<std::byte *>(data), size });
            m_used = 0;
        }
        std::byte *p = m_chunks[m_chunk].data + m_used;
        m_used += bytes;
        return p;
    }
    template <class T> T *take(size_t count) {
        return reinterpret_cast<T *>(take(count * sizeof(T)));
    }

    class Scope {
    public:
        explicit Scope(Arena &arena)
            : m_arena(arena), m_chunk(arena.m_chunk), m_used(arena.m_used) {}
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;
        ~Scope() {
            m_arena.m_chunk = m_chunk;
            m_arena.m_used = m_used;
            if (m_chunk == 0 && m_used == 0)
                m_arena.trim();
        }

    private:
        Arena &m_arena;
        size_t m_chunk, m_used;
    };

private:
    struct Chunk {
        std::byte *data;
        size_t size;
    };

    /// An unusual program must not hold on to its memory for ever.
    void trim() {
        constexpr size_t Keep = 16 << 20;
        size_t total = 0, kept = 0;
        for (; kept < m_chunks.size() && total + m_chunks[kept].size <= Keep; ++kept)
            total += m_chunks[kept].size;
        for (size_t i = kept; i < m_chunks.size(); ++i)
            ::operator delete(m_chunks[i].data, std::align_val_t(Align));
        m_chunks.resize(kept);
    }

    std::vector<Chunk> m_chunks;
    size_t m_chunk = 0, m_used = 0;
};

} // namespace umbel::jit
