# cmake/shared_library.cmake: libumbel.so, all layers in one library, and how it is installed.
#
# The program, the Python module, and libraries and programs of others use this one library, so that there is one registry of
# plugins in a process. It exports what is in namespace umbel; third-party code stays inside. It is made of the objects of the
# layers' archives: nothing is compiled twice.
set(_objects "")
foreach(layer IN ITEMS jit ad core render plugins)
    list(APPEND _objects $<TARGET_OBJECTS:umbel_${layer}>)
endforeach()
add_library(umbel_shared SHARED ${_objects})
add_library(umbel::umbel ALIAS umbel_shared)
target_include_directories(umbel_shared PUBLIC ${PROJECT_SOURCE_DIR}/src)
# The archive names the libraries that the layers need; of its own objects none is left to take.
target_link_libraries(umbel_shared PUBLIC fmt::fmt TBB::tbb Threads::Threads PRIVATE umbel_plugins)
set(UMBEL_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
# RPATH, unlike RUNPATH, also serves the libraries of libraries, which know nothing of a wheel's folder.
target_link_options(umbel_shared PRIVATE LINKER:--version-script=${UMBEL_EXPORTS} LINKER:-Bsymbolic-functions
                                         LINKER:--disable-new-dtags)
set_target_properties(umbel_shared PROPERTIES OUTPUT_NAME umbel LINK_DEPENDS ${UMBEL_EXPORTS} INSTALL_RPATH "$ORIGIN"
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(TARGET umbel_vdb)
    add_dependencies(umbel_shared umbel_vdb)
endif()

# umbel_install(PREFIX COMPONENT [EXCLUDE_FROM_ALL]): bin/umbel, lib/libumbel.so, include/umbel, lib/cmake/umbel.
function(umbel_install prefix component)
    set(rest COMPONENT ${component} ${ARGN})
    install(TARGETS umbel_shared LIBRARY DESTINATION ${prefix}/lib ${rest})
    if(TARGET umbel_vdb)
        install(TARGETS umbel_vdb LIBRARY DESTINATION ${prefix}/lib ${rest})
    endif()
    if(TARGET umbel)
        install(TARGETS umbel RUNTIME DESTINATION ${prefix}/bin ${rest})
    endif()
    foreach(layer IN ITEMS jit ad core render)
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${layer} DESTINATION ${prefix}/include/umbel ${rest}
                FILES_MATCHING PATTERN "*.h" PATTERN llvm EXCLUDE PATTERN interp EXCLUDE)
    endforeach()
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/umbelConfig.cmake ${PROJECT_BINARY_DIR}/umbelConfigVersion.cmake
            DESTINATION ${prefix}/lib/cmake/umbel ${rest})
endfunction()

# There is no stable binary interface: a plugin asks for the very version that opens it.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/umbelConfigVersion.cmake COMPATIBILITY ExactVersion)
