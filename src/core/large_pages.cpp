// core/large_pages.cpp: see core/large_pages.h.
#include "core/large_pages.h"
#include "jit/parallel.h"
#include <algorithm>

namespace umbel {

void fetch_pages(void *begin, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    constexpr size_t Piece = size_t(4) << 20; // two large pages
    if (bytes < 4 * Piece)
        return;
    uintptr_t first = (uintptr_t(begin) + Piece - 1) / Piece * Piece,
              end = (uintptr_t(begin) + bytes) / Piece * Piece;
    jit::parallel_for(size_t(0), size_t(end - first) / Piece, [&](size_t i) {
        // Where the system knows no such advice, whoever writes fetches them
        madvise(reinterpret_cast<void *>(first + i * Piece), Piece, MADV_POPULATE_WRITE);
    });
#else
    (void)begin, (void)bytes;
#endif
}

} // namespace umbel
