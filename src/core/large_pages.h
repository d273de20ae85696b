// core/large_pages.h: arrays of many megabytes, which come in large pages where the system has them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <vector>

namespace umbel {

/// Makes room for `n` elements in all. Thousands of small pages, met one after the other, can take longer than what is
/// written to them.
template <class T> void reserve_large(std::vector<T> &list, size_t n) {
    constexpr uintptr_t Page = uintptr_t(2) << 20;
    if (n <= list.capacity())
        return;
    list.reserve(n);
    uintptr_t begin = (uintptr_t(list.data()) + Page - 1) & ~(Page - 1),
              end = uintptr_t(list.data() + list.capacity()) & ~(Page - 1);
    if (begin < end) // a hint: nothing is lost where it is refused
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

/// All cores fetch the pages of what lies there, which one would do as it writes.
void fetch_pages(void *begin, size_t bytes);

/// As list.resize(n).
template <class T> void resize_large(std::vector<T> &list, size_t n) {
    bool is_fresh = list.empty() && n > list.capacity();
    reserve_large(list, n);
    if (is_fresh)
        fetch_pages(list.data(), sizeof(T) * n);
    list.resize(n);
}

} // namespace umbel
