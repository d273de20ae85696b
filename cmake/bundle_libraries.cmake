# cmake/bundle_libraries.cmake: copies the shared libraries that `libraries` and `executables` need into `folder`, at installation.
#
# What every Linux has stays behind: the C and C++ runtimes. Each file gets the name that the loader looks for, and no
# links, which archives would store as copies.
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${libraries} EXECUTABLES ${executables} RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so" "^ld-linux")
if(missing)
    message(FATAL_ERROR "libraries that ${libraries} ${executables} need were not found: ${missing}")
endif()
file(MAKE_DIRECTORY ${folder})
foreach(library IN LISTS needed)
    get_filename_component(name ${library} NAME)
    message(STATUS "Bundling ${name}")
    file(COPY_FILE ${library} ${folder}/${name} ONLY_IF_DIFFERENT)
endforeach()
