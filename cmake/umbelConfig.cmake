# umbelConfig.cmake: find_package(umbel) gives the target umbel::umbel, and umbel_plugin() for plugins.
#
#     find_package(umbel REQUIRED)                      # -D umbel_DIR=$(python -m umbel.config --cmakedir)
#     add_executable(my_program my_program.cpp)
#     target_link_libraries(my_program umbel::umbel)
#     umbel_plugin(my_bsdf my_bsdf.cpp)                 # my_bsdf.so, for a folder that UMBEL_PLUGINS names
get_filename_component(_umbel_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# {fmt} is part of the headers. A wheel brings its own.
if(NOT TARGET fmt::fmt)
    file(GLOB _umbel_fmt "${_umbel_prefix}/lib/libfmt.so*")
    if(_umbel_fmt)
        add_library(fmt::fmt SHARED IMPORTED)
        set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION "${_umbel_fmt}"
                              INTERFACE_COMPILE_DEFINITIONS FMT_SHARED)
    else()
        include(CMakeFindDependencyMacro)
        find_dependency(fmt CONFIG)
    endif()
endif()

if(NOT TARGET umbel::umbel)
    add_library(umbel::umbel SHARED IMPORTED)
    set_target_properties(umbel::umbel PROPERTIES
        IMPORTED_LOCATION "${_umbel_prefix}/lib/libumbel.so"
        IMPORTED_SONAME libumbel.so
        INTERFACE_INCLUDE_DIRECTORIES "${_umbel_prefix}/include/umbel"
        INTERFACE_COMPILE_FEATURES cxx_std_20
        INTERFACE_COMPILE_OPTIONS -ffp-contract=off
        INTERFACE_LINK_LIBRARIES fmt::fmt)
endif()

function(umbel_plugin name)
    add_library(${name} MODULE ${ARGN})
    target_link_libraries(${name} PRIVATE umbel::umbel)
    set_target_properties(${name} PROPERTIES PREFIX "")
endfunction()
