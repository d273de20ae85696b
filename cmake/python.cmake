# cmake/python.cmake: the Python package in build/PRESET/python, if there is a nanobind to build it with.
#
# UMBEL_PYTHON names the interpreter; `./umbel` gives that of build/python-venv. Without one, or without
# nanobind in it, everything else is built.
set(UMBEL_PYTHON "" CACHE FILEPATH "Python interpreter that has nanobind; empty: build no Python package")

if(SKBUILD AND Python_EXECUTABLE) # `pip install .`: the interpreter that pip runs
    set(UMBEL_PYTHON ${Python_EXECUTABLE})
endif()
file(GLOB UMBEL_PYTHON_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/python/*.cpp)
if(UMBEL_PYTHON AND EXISTS "${UMBEL_PYTHON}" AND NOT UMBEL_SANITIZE)
    execute_process(COMMAND ${UMBEL_PYTHON} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _failed)
    if(NOT _failed)
        set(Python_EXECUTABLE ${UMBEL_PYTHON})
        find_package(Python 3.9 COMPONENTS Interpreter Development.Module)
        find_package(nanobind CONFIG)
    endif()
endif()

if(nanobind_FOUND AND Python_FOUND)
    nanobind_add_module(umbel_python NB_STATIC NOMINSIZE ${UMBEL_PYTHON_SOURCES})
    target_link_libraries(umbel_python PRIVATE umbel::umbel)
    umbel_precompile(umbel_python <nanobind/nanobind.h>)
    set(package ${PROJECT_BINARY_DIR}/python/umbel)
    set_target_properties(umbel_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package})
    # The package's own files are used in place: a link to each, made when one is added. Stubs are written beside them.
    set(source ${PROJECT_SOURCE_DIR}/python/umbel)
    file(GLOB_RECURSE package_files RELATIVE ${source} CONFIGURE_DEPENDS ${source}/*.py ${source}/*.pyi ${source}/py.typed)
    foreach(file IN LISTS package_files)
        get_filename_component(folder ${package}/${file} DIRECTORY)
        if(IS_SYMLINK ${folder})
            file(REMOVE ${folder})
        endif()
        file(MAKE_DIRECTORY ${folder})
        file(CREATE_LINK ${source}/${file} ${package}/${file} SYMBOLIC)
    endforeach()
    set(tools ${PROJECT_SOURCE_DIR}/python/tools)
    set(stubs ${package}/__init__.pyi ${package}/_core.pyi ${package}/jit/__init__.pyi ${package}/jit/auto.pyi
              ${package}/warp.pyi ${package}/mueller.pyi)
    list(TRANSFORM package_files PREPEND ${source}/)
    add_custom_command(OUTPUT ${stubs} VERBATIM COMMENT "Writing stubs of the Python package"
                       DEPENDS umbel_python ${package_files} ${tools}/make_stubs.py ${tools}/array_stubs.py ${tools}/types_table.py
                       COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python UMBEL_PLUGINS=
                               ${UMBEL_PYTHON} -B ${tools}/make_stubs.py ${package})
    add_custom_target(umbel_stubs ALL DEPENDS ${stubs})
    # What it uses is where an installed package has it: config.py need not tell the two apart.
    file(MAKE_DIRECTORY ${package}/bin ${package}/include)
    file(CREATE_LINK ${PROJECT_BINARY_DIR}/lib ${package}/lib SYMBOLIC)
    file(CREATE_LINK ${PROJECT_BINARY_DIR}/umbel ${package}/bin/umbel SYMBOLIC)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src ${package}/include/umbel SYMBOLIC)
    # An installed package brings everything along that is not Python's.
    set_target_properties(umbel_python PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
    target_link_options(umbel_python PRIVATE LINKER:--disable-new-dtags)
    set(destination "umbel")
    if(NOT SKBUILD) # scikit-build-core adds the Python files itself
        set(destination "python/umbel")
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/umbel DESTINATION python COMPONENT python EXCLUDE_FROM_ALL
                PATTERN __pycache__ EXCLUDE)
    endif()
    foreach(stub IN LISTS stubs)
        file(RELATIVE_PATH name ${package} ${stub})
        get_filename_component(folder ${name} DIRECTORY)
        install(FILES ${stub} DESTINATION ${destination}/${folder} COMPONENT python EXCLUDE_FROM_ALL)
    endforeach()
    install(TARGETS umbel_python LIBRARY DESTINATION ${destination} COMPONENT python EXCLUDE_FROM_ALL)
    umbel_install(${destination} python EXCLUDE_FROM_ALL)
    get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
    install(DIRECTORY ${fmt_headers}/fmt DESTINATION ${destination}/include/umbel COMPONENT python EXCLUDE_FROM_ALL)
    set(libraries $<TARGET_FILE:umbel_shared>)
    if(TARGET umbel_vdb)
        list(APPEND libraries $<TARGET_FILE:umbel_vdb>)
    endif()
    install(CODE "set(libraries \"${libraries}\")
                  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${destination}/lib\")"
            COMPONENT python EXCLUDE_FROM_ALL)
    install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/bundle_libraries.cmake COMPONENT python EXCLUDE_FROM_ALL)
endif()
