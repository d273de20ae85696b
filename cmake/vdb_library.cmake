# cmake/vdb_library.cmake: libumbel_vdb.so, which reads OpenVDB files and is opened when one is read; see src/vdb/vdb_reader.h.
set(UMBEL_OPENVDB ON CACHE BOOL "Read OpenVDB files, if OpenVDB, its headers and Boost's are there")
if(NOT (UMBEL_OPENVDB AND UMBEL_OPENVDB_INCLUDE AND UMBEL_OPENVDB_LIBRARY AND UMBEL_BOOST_INCLUDE AND UMBEL_IMATH_LIBRARY))
    return()
endif()
add_library(umbel_vdb MODULE ${PROJECT_SOURCE_DIR}/src/vdb/vdb_reader.cpp)
target_include_directories(umbel_vdb PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(umbel_vdb SYSTEM PRIVATE ${UMBEL_OPENVDB_INCLUDE} ${UMBEL_BOOST_INCLUDE})
target_link_libraries(umbel_vdb PRIVATE ${UMBEL_OPENVDB_LIBRARY} ${UMBEL_IMATH_LIBRARY} TBB::tbb)
target_link_options(umbel_vdb PRIVATE LINKER:--disable-new-dtags)
# Classes of OpenVDB must be the same on both sides: hidden, its own registration of grids crashes.
set_target_properties(umbel_vdb PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF INSTALL_RPATH "$ORIGIN"
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/core/vdb_file.cpp PROPERTIES
    COMPILE_DEFINITIONS UMBEL_VDB_LIBRARY="${PROJECT_BINARY_DIR}/lib/libumbel_vdb.so")
