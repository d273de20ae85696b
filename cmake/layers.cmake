# cmake/layers.cmake: a folder of sources becomes a library, a program, or nothing while empty.

# UMBEL_LAYERS: the layers so far, lowest first; a new one links them all. UMBEL_LINK_NAME: how a
# program links one of them.
set(UMBEL_LAYERS "")

# Files named *_v3.cpp and *_v4.cpp hold loops compiled for newer x86 machines (AVX2, AVX-512) and
# chosen at run time. They must keep their functions in namespaces of their own: an inline function
# shared with other files could end up in its AVX-512 form everywhere.
function(umbel_isa_flags)
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        return()
    endif()
    foreach(file IN LISTS ARGN)
        if(file MATCHES "_(v[34])\\.cpp$")
            set_source_files_properties(${file} PROPERTIES
                COMPILE_OPTIONS "-march=x86-64-${CMAKE_MATCH_1};-mprefer-vector-width=512")
        endif()
    endforeach()
endfunction()

# umbel_layer(NAME [WHOLE]): umbel_NAME from src/NAME/**/*.cpp. WHOLE: link every object file of it.
macro(umbel_layer name)
    file(GLOB_RECURSE _sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
    set(UMBEL_HAS_${name} FALSE)
    if(_sources)
        set(UMBEL_HAS_${name} TRUE)
        umbel_isa_flags(${_sources})
        add_library(umbel_${name} STATIC ${_sources})
        target_include_directories(umbel_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
        target_link_libraries(umbel_${name} PUBLIC ${UMBEL_LAYERS})
        set(UMBEL_LINK_${name} umbel_${name})
        if("${ARGN}" STREQUAL "WHOLE")
            set(UMBEL_LINK_${name} "$<LINK_LIBRARY:WHOLE_ARCHIVE,umbel_${name}>")
        else() # plugins in libraries of their own use what libumbel.so exports, and replace none of it
            set_target_properties(umbel_${name} PROPERTIES CXX_VISIBILITY_PRESET default)
            target_compile_options(umbel_${name} PRIVATE -fno-semantic-interposition)
        endif()
        list(APPEND UMBEL_LAYERS ${UMBEL_LINK_${name}})
    endif()
endmacro()

# umbel_program(NAME FOLDER): an executable in the build folder's root.
function(umbel_program name folder)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
    if(sources)
        add_executable(${name} ${sources})
        target_link_libraries(${name} PRIVATE umbel::umbel)
        target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                              INSTALL_RPATH "$ORIGIN/../lib")
    endif()
endfunction()

# umbel_revision(TARGET FOLDER): defines umbel::jit::compiler_revision, which changes with the folder.
function(umbel_revision target folder)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/*.h)
    set(output ${PROJECT_BINARY_DIR}/compiler_revision.cpp)
    set(script ${PROJECT_SOURCE_DIR}/cmake/revision.cmake)
    add_custom_command(OUTPUT ${output} DEPENDS ${files} ${script} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D FOLDER=${folder} -P ${script})
    target_sources(${target} PRIVATE ${output})
endfunction()
