# cmake/fuzzed_readers.cmake: readers of files, compiled once more to tell libFuzzer which code they reach; for tests/fuzzer.
find_library(UMBEL_LIBFUZZER clang_rt.fuzzer_no_main-${CMAKE_SYSTEM_PROCESSOR} NO_DEFAULT_PATH
             PATHS ${LLVM_LIBRARY_DIRS}/clang/${LLVM_VERSION_MAJOR}/lib/linux)
if(NOT UMBEL_LIBFUZZER OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT UMBEL_HAS_plugins)
    return()
endif()

set(UMBEL_READERS "/src/(core/(file_|gltf|image|mtl_|number_list|object|parametric_|params|properties|resolve_|scene_xml|tabulated_\
|tensor_|vdb_|voxels)|plugins/shapes/(bspline|deform|ellips|gltf|hair|height|linear|merge|obj|ply|sdf|serial)\
|plugins/bsdfs/(irawan|measured)|render/[a-z_]*(file|curve|mesh|checkpoint))")
add_library(umbel_readers OBJECT EXCLUDE_FROM_ALL)
foreach(layer IN ITEMS core render plugins)
    get_target_property(sources umbel_${layer} SOURCES)
    list(FILTER sources INCLUDE REGEX ${UMBEL_READERS})
    get_target_property(libraries umbel_${layer} LINK_LIBRARIES)
    target_sources(umbel_readers PRIVATE ${sources})
    target_link_libraries(umbel_readers PRIVATE umbel_${layer} ${libraries})
endforeach()
target_compile_options(umbel_readers PRIVATE -fsanitize-coverage=trace-pc,trace-cmp)
umbel_precompile(umbel_readers <jit/array.h> <core/params.h> <core/spectrum.h>)

# umbel_link_readers(PROGRAM): these readers in place of those of the layers, and libFuzzer. Linkers prefer objects to what
# archives have of the same name; plugins, of which all are linked, are named one by one.
function(umbel_link_readers program)
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:umbel_readers>
                   $<FILTER:$<TARGET_OBJECTS:umbel_plugins>,EXCLUDE,${UMBEL_READERS}>)
    set_target_properties(${program} PROPERTIES LINK_LIBRARY_OVERRIDE "DEFAULT,umbel_plugins")
    target_link_libraries(${program} PRIVATE ${UMBEL_LIBFUZZER})
    target_link_options(${program} PRIVATE LINKER:--wrap=__sanitizer_cov_trace_pc)
    target_compile_definitions(${program} PRIVATE UMBEL_LIBFUZZER)
endfunction()
