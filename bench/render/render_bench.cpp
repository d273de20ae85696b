// bench/render/render_bench.cpp: Umbel's side of the render suite; README.md says what each row measures.
#include "core/scene_file.h"
#include "harness.h"
#include "render/driver.h"
#include <cstdlib>
#include <map>

namespace umbel {
namespace {

std::string scenes() {
    const char *folder = std::getenv("UMBEL_SCENES");
    return folder ? folder : "../shared/scenes";
}

struct Loaded {
    const Variant *variant;
    Ref<Scene> scene;
};

// Loaded once, so that a row measures rendering alone.
const Loaded &load(const std::string &path, const char *variant_name,
                   const std::map<std::string, std::string, std::less<>> &definitions) {
    static std::map<std::string, Loaded> cache;
    Loaded &l = cache[path + variant_name];
    if (!l.scene) {
        l.variant = &find_variant(variant_name);
        VariantScope scope(*l.variant);
        SceneFileOptions options;
        options.definitions = definitions;
        l.scene = load_scene(parse_scene_file(scenes() + "/" + path, options));
    }
    return l;
}

double hot(const std::string &path, const char *variant_name, int spp,
           const std::map<std::string, std::string, std::less<>> &definitions) {
    const Loaded &l = load(path, variant_name, definitions);
    uint32_t seed = 0;
    return bench::seconds(
        [&] {
            Render render(*l.scene, { .spp = spp, .seed = ++seed });
            render.run();
            render.wait();
        },
        2, 0.5);
}

BENCH("cbox rgb", "s") { return hot("cbox/cbox.xml", "llvm_rgb", 64, { { "res", "256" } }); }
BENCH("cbox spectral", "s") {
    return hot("cbox/cbox.xml", "llvm_spectral", 64, { { "res", "256" } });
}

} // namespace
} // namespace umbel

BENCH_MAIN
