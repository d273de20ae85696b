# cmake/backends.cmake: the list of the compiler's backends: folders of src/jit with a file backend.cpp; see src/jit/backends.h.
file(GLOB backend_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/jit/*/backend.cpp)
set(declarations "")
set(calls "")
foreach(file IN LISTS backend_files)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    string(APPEND declarations "void list_${folder}_backends(std::vector<BackendEntry> &list);\n")
    string(APPEND calls "    list_${folder}_backends(list);\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/backend_list.cpp CONTENT
"// Made by cmake/backends.cmake.
#include \"jit/backends.h\"
namespace umbel::jit {
${declarations}
void list_all_backends(std::vector<BackendEntry> &list);
void list_all_backends(std::vector<BackendEntry> &list) {
${calls}}
} // namespace umbel::jit
")
target_sources(umbel_jit PRIVATE ${PROJECT_BINARY_DIR}/backend_list.cpp)
