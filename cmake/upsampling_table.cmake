# cmake/upsampling_table.cmake: the spectra of RGB colours, computed by a small program of ours.
set(core ${PROJECT_SOURCE_DIR}/src/core)
set(table ${PROJECT_BINARY_DIR}/upsampling_table.bin)
add_executable(make_upsampling_table ${PROJECT_SOURCE_DIR}/src/tables/make_upsampling_table.cpp
               ${core}/upsampling_fit.cpp ${core}/colour.cpp ${core}/cie_data.cpp)
target_include_directories(make_upsampling_table PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(make_upsampling_table PRIVATE TBB::tbb)
# Two to four seconds of arithmetic: fast also where the rest is debugged or sanitized.
target_compile_options(make_upsampling_table PRIVATE -O3 -fno-sanitize=all -fassociative-math
                                                     -fno-signed-zeros -fno-trapping-math)
add_custom_command(OUTPUT ${table} DEPENDS make_upsampling_table VERBATIM
                   COMMAND make_upsampling_table ${table} COMMENT "Computing spectra of RGB colours")

set_source_files_properties(${core}/upsampling.cpp PROPERTIES
    OBJECT_DEPENDS ${table} COMPILE_DEFINITIONS "UMBEL_UPSAMPLING_TABLE=\"${table}\"")
