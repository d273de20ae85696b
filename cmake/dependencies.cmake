# cmake/dependencies.cmake: third-party libraries as targets. Debian's names are in packages.txt.
find_package(Threads REQUIRED)
find_package(TBB CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)

# ---- LLVM, linked statically so that users install nothing
set(CMAKE_DISABLE_FIND_PACKAGE_LibEdit ON) # for parts of LLVM that are not used here
set(CMAKE_DISABLE_FIND_PACKAGE_CURL ON)
find_package(LLVM 19.1 CONFIG REQUIRED HINTS /usr/lib/llvm-19) # accepts 19.1.x only
llvm_map_components_to_libnames(UMBEL_LLVM_LIBS
    native core support analysis codegen mc object target passes ipo scalaropts instcombine
    transformutils vectorize orcjit jitlink executionengine runtimedyld)
add_library(umbel_llvm INTERFACE)
add_library(umbel::llvm ALIAS umbel_llvm)
target_include_directories(umbel_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(umbel_llvm INTERFACE ${UMBEL_LLVM_LIBS})
separate_arguments(UMBEL_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(umbel_llvm INTERFACE ${UMBEL_LLVM_DEFINITIONS})
if(NOT LLVM_ENABLE_RTTI)
    message(FATAL_ERROR "${LLVM_DIR}: this LLVM was built without RTTI, which Umbel uses; "
                        "Debian's and Ubuntu's llvm-19-dev have it")
endif()

# ---- Libraries without a package file on every distribution: static where there is a choice, unless SHARED is
# said because Debian's archive cannot be part of a Python module (it is not position independent)
function(umbel_library name header archive)
    find_path(UMBEL_${name}_INCLUDE ${header} REQUIRED)
    set(names lib${archive}.a ${archive})
    if(ARGN STREQUAL "SHARED")
        list(REVERSE names)
    endif()
    find_library(UMBEL_${name}_LIBRARY NAMES ${names} REQUIRED)
    add_library(umbel_${name} INTERFACE)
    add_library(umbel::${name} ALIAS umbel_${name})
    target_include_directories(umbel_${name} SYSTEM INTERFACE ${UMBEL_${name}_INCLUDE})
    target_link_libraries(umbel_${name} INTERFACE ${UMBEL_${name}_LIBRARY})
endfunction()
umbel_library(xxhash xxhash.h xxhash)
umbel_library(zstd zstd.h zstd)
umbel_library(pugixml pugixml.hpp pugixml)
umbel_library(zlib zlib.h z SHARED)
umbel_library(png png.h png SHARED)
umbel_library(jpeg jpeglib.h jpeg SHARED)
target_link_libraries(umbel_png INTERFACE umbel::zlib)

find_package(OpenEXR 3.1 CONFIG REQUIRED)

# ---- Embree, for rays in single precision
find_package(embree 3 CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json 3 CONFIG REQUIRED) # for glTF; headers only
find_path(UMBEL_ROBIN_MAP_INCLUDE tsl/robin_map.h REQUIRED) # hash tables; headers only, in a folder of the system

# ---- OpenVDB, for files of volumes; Umbel is built without it where it is missing. Its headers need Boost's.
find_path(UMBEL_OPENVDB_INCLUDE openvdb/openvdb.h)
find_path(UMBEL_BOOST_INCLUDE boost/numeric/conversion/conversion_traits.hpp)
find_library(UMBEL_OPENVDB_LIBRARY openvdb)
find_library(UMBEL_IMATH_LIBRARY NAMES Imath Imath-3_1)
