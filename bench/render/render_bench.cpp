// bench/render/render_bench.cpp: Umbel's side of the render suite; README.md says what each row measures.
#include "scenes.h"

namespace umbel::bench {
namespace {

double cbox(const char *variant) {
    return hot(shared_scene("cbox/cbox.xml"), variant, 64, { { "res", "256" } });
}
BENCH("cbox rgb", "s") { return cbox("llvm_rgb"); }
BENCH("cbox spectral", "s") { return cbox("llvm_spectral"); }

double room(const char *name) {
    return hot(made_scene(name), "llvm_rgb", 16, { { "width", "480" }, { "height", "270" } });
}
BENCH("staircase", "s") { return room("staircase"); }
BENCH("living-room", "s") { return room("living-room"); }

} // namespace
} // namespace umbel::bench

BENCH_MAIN
