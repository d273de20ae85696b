// tests/write_faults/write_faults.cpp: a library to be preloaded: the disk is full at a chosen moment.
//
//     LD_PRELOAD=write_faults.so UMBEL_FAIL_WRITE=K program      # the K-th write to a regular file fails with ENOSPC
//     ... UMBEL_COUNT_WRITES=FILE                                # at the end, their number is appended to FILE
//     ... UMBEL_CUT_FILE=FILE                                    # FILE is cut short as soon as it is mapped
//
// Writes are those of write, pwrite, writev, fwrite's own, fsync, rename and ftruncate.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::atomic<long> counted{ 0 };

bool is_regular(int file) {
    struct stat s;
    return fstat(file, &s) == 0 && S_ISREG(s.st_mode);
}

bool fails() {
    static const long k =
        std::getenv("UMBEL_FAIL_WRITE") ? std::atol(std::getenv("UMBEL_FAIL_WRITE")) : 0;
    bool now = ++counted == k;
    if (now)
        errno = ENOSPC;
    return now;
}

void cut_short(int file) {
    const char *name = std::getenv("UMBEL_CUT_FILE");
    struct stat a, b;
    if (name && fstat(file, &a) == 0 && stat(name, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino)
        (void)!truncate(name, 1);
}

template <class F> F next(const char *name, F) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

struct AtTheEnd {
    ~AtTheEnd() {
        if (const char *file = std::getenv("UMBEL_COUNT_WRITES"))
            if (FILE *f = std::fopen(file, "a")) {
                std::fprintf(f, "%ld\n", counted.load());
                std::fclose(f);
            }
    }
} at_the_end;

} // namespace

extern "C" {
ssize_t write(int file, const void *data, size_t n) {
    static const auto real = next("write", &write);
    return is_regular(file) && fails() ? -1 : real(file, data, n);
}
ssize_t pwrite(int file, const void *data, size_t n, off_t at) {
    static const auto real = next("pwrite", &pwrite);
    return is_regular(file) && fails() ? -1 : real(file, data, n, at);
}
ssize_t writev(int file, const iovec *parts, int n) {
    static const auto real = next("writev", &writev);
    return is_regular(file) && fails() ? -1 : real(file, parts, n);
}
size_t fwrite(const void *data, size_t size, size_t n,
              FILE *file) { // glibc's own does not call the above
    static const auto real = next("fwrite", &fwrite);
    return is_regular(fileno(file)) && fails() ? 0 : real(data, size, n, file);
}
int fsync(int file) {
    static const auto real = next("fsync", &fsync);
    return is_regular(file) && fails() ? -1 : real(file);
}
int ftruncate(int file, off_t n) {
    static const auto real = next("ftruncate", &ftruncate);
    return is_regular(file) && fails() ? -1 : real(file, n);
}
void *mmap(void *at, size_t n, int rights, int flags, int file, off_t offset) {
    long p = syscall(SYS_mmap, at, n, rights, flags, file, offset); // before there is dlsym()
    if (p != -1 && file >= 0)
        cut_short(file);
    return reinterpret_cast<void *>(p);
}
int rename(const char *from, const char *to) {
    static const auto real = next("rename", &rename);
    return fails() ? -1 : real(from, to);
}
}
