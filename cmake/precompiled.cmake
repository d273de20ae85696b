# cmake/precompiled.cmake: headers that nearly every file of a target includes, read once.
#
# They are half of what a small file takes to compile. Files still name all that they use: without this, everything compiles as well.
set(UMBEL_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstring> <filesystem> <functional> <limits>
    <map> <memory> <mutex> <numeric> <optional> <span> <string> <tuple> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h>)

# umbel_precompile(TARGET [HEADER...]): those, and further ones. Files compiled with flags of their own do without.
function(umbel_precompile target)
    target_precompile_headers(${target} PRIVATE ${UMBEL_STANDARD_HEADERS} ${ARGN})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "_v[34]\\.cpp$")
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
