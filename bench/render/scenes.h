// bench/render/scenes.h: the scenes of the render suite, loaded once, and what their rows time.
#pragma once
#include "core/scene_file.h"
#include "harness.h"
#include "render/driver.h"
#include <cstdlib>
#include <map>

namespace umbel::bench {

inline std::string variable(const char *name, const char *otherwise) {
    const char *value = std::getenv(name);
    return value ? value : otherwise;
}
/// A file of the shared scenes.
inline std::string shared_scene(const std::string &path) {
    return variable("UMBEL_SCENES", "../shared/scenes") + "/" + path;
}
/// A scene that prepare.py wrote.
inline std::string made_scene(const std::string &name) {
    return variable("UMBEL_BENCH_FOLDER", "build/bench/render") + "/scenes/" + name + ".xml";
}

struct Loaded {
    const Variant *variant;
    Ref<Scene> scene;
};

using Definitions = std::map<std::string, std::string, std::less<>>;

/// So that a row measures rendering alone.
inline const Loaded &load(const std::string &path, const char *variant_name,
                          const Definitions &definitions = {}) {
    static auto &cache = *new std::map<std::string, Loaded>; // outlives its context otherwise
    std::string key = path + variant_name;
    for (auto &[name, value] : definitions)
        key += " " + name + "=" + value;
    Loaded &l = cache[key];
    if (!l.scene) { // one at a time, as on the rival's side
        for (auto &[name, other] : cache)
            other.scene.reset();
        l.variant = &find_variant(variant_name);
        VariantScope scope(*l.variant);
        SceneFileOptions options;
        options.definitions = definitions;
        l.scene = load_scene(parse_scene_file(path, options));
    }
    return l;
}

/// One render of a scene whose kernels are compiled.
inline double hot(const std::string &path, const char *variant_name, int spp,
                  const Definitions &definitions = {}) {
    const Loaded &l = load(path, variant_name, definitions);
    VariantScope scope(*l.variant);
    uint32_t seed = 0;
    return seconds(
        [&] {
            Render render(*l.scene, { .spp = spp, .seed = ++seed });
            render.run();
            render.wait();
        },
        2, 0.5);
}

} // namespace umbel::bench
