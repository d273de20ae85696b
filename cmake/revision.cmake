# cmake/revision.cmake: hashes the compiler's sources into a source file, so that kernels stored on
# disk by a build are not taken for those of another. Run with -D OUTPUT=FILE -D FOLDER=src/jit.
file(GLOB_RECURSE files ${FOLDER}/*.cpp ${FOLDER}/*.h)
list(SORT files)
set(all "")
foreach(file IN LISTS files)
    file(SHA1 ${file} hash)
    string(APPEND all ${hash})
endforeach()
string(SHA1 revision "${all}")
file(WRITE ${OUTPUT} "namespace umbel::jit {
extern const char *const compiler_revision = \"${revision}\";
}
")
