# cmake/settings.cmake: language, flags, compiler launcher and linker, for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the Python module will link the same libraries
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

# Contraction would let the host round differently from the kernels; nothing here reads errno.
add_compile_options(-ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-unused-parameter
                    -ffunction-sections -fdata-sections)
# At -O2 GCC vectorizes only loops whose length it knows to be a multiple of the vector's.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
# LLVM's archives carry far more than is used, and name shared libraries that nothing calls.
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

set(UMBEL_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")
if(UMBEL_SANITIZE)
    add_compile_options(-fsanitize=${UMBEL_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=${UMBEL_SANITIZE})
    add_compile_definitions(UMBEL_SANITIZED=1)
    # Checks are code, which the optimizer goes over again and again: files took 2.3 to 4.6 times as long as in the release
    # build, and take 1.2 to 2.1 times as long like this. Left out is what is looked at before every access through a pointer:
    # null and object-size, which the address sanitizer reports itself, alignment, which x86 seldom asks for, and vptr
    # (casts to a class that an object is not of), a sixth of the time.
    string(REPLACE "-O2" "-O1" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
    if(UMBEL_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize=null,alignment,object-size,vptr)
    endif()
endif()

find_program(UMBEL_CCACHE ccache)
if(UMBEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What precompiled headers define is not among what the cache compares; it looks at their contents, which will do. Paths
    # are taken from the tree's root: what one clone has compiled, another one finds.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
        CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${UMBEL_CCACHE})
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# A test program holds most of LLVM: mold links it several times as fast as the default linker.
find_program(UMBEL_MOLD mold)
find_program(UMBEL_LLD NAMES ld.lld ld.lld-19)
if(UMBEL_MOLD)
    add_link_options(-fuse-ld=mold)
elseif(UMBEL_LLD MATCHES "ld\\.lld$") # the compiler looks for this very name
    add_link_options(-fuse-ld=lld)
endif()
