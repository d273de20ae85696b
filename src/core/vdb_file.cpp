// core/vdb_file.cpp: opens the library that calls OpenVDB, and asks it: see vdb/vdb_reader.h.
#include "core/vdb_file.h"
#include "core/limits.h"
#include "jit/error.h"
#include "vdb/vdb_reader.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

namespace umbel {

bool is_vdb_file(const std::filesystem::path &file) { return file.extension() == ".vdb"; }

#ifdef UMBEL_VDB_LIBRARY

/// Beside the library or program that this is part of, or where it was built.
static decltype(&umbel_read_vdb) reader() {
    static const auto function = []() -> decltype(&umbel_read_vdb) {
        std::filesystem::path built = UMBEL_VDB_LIBRARY, here;
        Dl_info info;
        if (dladdr(reinterpret_cast<void *>(&is_vdb_file), &info))
            here = std::filesystem::path(info.dli_fname).parent_path() / built.filename();
        std::string first;
        for (const auto &library : { here, built }) {
            if (void *opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL))
                return reinterpret_cast<decltype(&umbel_read_vdb)>(dlsym(opened, "umbel_read_vdb"));
            std::error_code ignored;
            if (first.empty() || std::filesystem::exists(library, ignored))
                first = dlerror();
        }
        fail("the library for OpenVDB files cannot be loaded ({}); install Umbel again, or "
             "OpenVDB's "
             "libraries (Debian: libopenvdb10.0)",
             first);
    }();
    return function;
}

#ifdef __SANITIZE_THREAD__
// What is to be passed over there is known by names of functions, which the sanitizer learns when it first asks for one.
[[maybe_unused]] static const auto from_the_beginning = reader();
#endif

#else

static decltype(&umbel_read_vdb) reader() {
    fail("this build of Umbel has no OpenVDB; install it with its headers (Debian: libopenvdb-dev "
         "and "
         "libboost-dev) and build Umbel again, or make a .vol file of the grid");
}

#endif

Voxels read_vdb(const std::filesystem::path &file, const std::string &grid, size_t max_bytes,
                size_t dense_bytes) try {
    if (!read_limits().plugin_libraries)
        fail(
            "files of OpenVDB are read by a library that believes what they say, which is not done "
            "for scenes of others (--untrusted); make a .vol file of the grid");
    umbel_vdb_grid read;
    if (!reader()(file.c_str(), grid.c_str(), max_bytes, dense_bytes, &read)) {
        std::string_view what = read.message;
        if (what == "std::bad_alloc" || what == "std::length_error")
            what = "needs more memory than there is, or is damaged";
        fail("{}", what);
    }
    Voxels v;
    v.data = { read.data, std::free };
    std::copy_n(read.size, 3, v.size.begin());
    v.channels = read.channels;
    v.type = read.bytes == 2 ? jit::Type::F16 : jit::Type::F32;
    v.to_world.emplace();
    std::copy_n(read.to_world, 16, v.to_world->m.begin());
    if (read.index) {
        Voxels::Bricks &b = v.bricks.emplace();
        b.index = { read.index, std::free };
        b.stored = read.stored;
        std::copy_n(read.bricks, 3, b.count.begin());
        std::copy_n(read.first, 3, b.first.begin());
    }
    if (v.stored() >= size_t(1) << 31)
        fail("has {} numbers; fewer than 2^31 can be used: crop or resample it", v.stored());
    if (!v.to_world->inverse())
        fail("the transform of the grid squeezes space into a plane, a line or a point");
    if (auto i = v.find_not_finite()) {
        auto [x, y, z] = v.voxel_of(*i);
        fail(
            "the number of voxel {}, {}, {} of the active box is not finite; repair or replace the "
            "file",
            x, y, z);
    }
    return v;
} catch (const UserError &e) {
    fail("{}: {}", file.string(), e.what());
}

} // namespace umbel
