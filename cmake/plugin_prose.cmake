# cmake/plugin_prose.cmake: the program's manual says what the comments say that begin plugins' files.
set(prose ${PROJECT_BINARY_DIR}/plugin_prose.cpp)
file(GLOB plugin_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/plugins/*/*.cpp)
add_executable(make_plugin_prose ${PROJECT_SOURCE_DIR}/src/tables/make_plugin_prose.cpp)
add_custom_command(OUTPUT ${prose} DEPENDS make_plugin_prose ${plugin_files} VERBATIM
                   COMMAND make_plugin_prose ${prose} ${plugin_files} COMMENT "Collecting the manual's prose")
target_sources(umbel PRIVATE ${prose})
