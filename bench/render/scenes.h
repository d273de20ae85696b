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
/// One of the large files that prepare.py wrote.
inline std::string large_file(const std::string &name) {
    return variable("UMBEL_BENCH_FOLDER", "build/bench/render") + "/../large/" + name;
}

struct Loaded {
    const Variant *variant;
    Ref<Scene> scene;
};

using Definitions = std::map<std::string, std::string, std::less<>>;

/// Scenes that are kept: one at a time, as on the rival's side.
inline std::map<std::string, Loaded> &loaded_scenes() {
    static auto &scenes = *new std::map<std::string, Loaded>; // outlives its context otherwise
    return scenes;
}

/// From the file to what rays can be traced in. The variant is active.
inline Ref<Scene> read_scene(const std::string &path, const Definitions &definitions) {
    SceneFileOptions options;
    options.definitions = definitions;
    Ref<Scene> scene = load_scene(parse_scene_file(path, options));
    jit::eval();
    jit::synchronize();
    return scene;
}

/// So that a row measures rendering alone.
inline const Loaded &load(const std::string &path, const std::string &variant_name,
                          const Definitions &definitions = {}) {
    std::string key = path + variant_name;
    for (auto &[name, value] : definitions)
        key += " " + name + "=" + value;
    auto &scenes = loaded_scenes();
    if (!scenes.contains(key)) {
        scenes.clear();
        const Variant &variant = find_variant(variant_name);
        VariantScope scope(variant);
        scenes[key] = { &variant, read_scene(path, definitions) };
    }
    return scenes[key];
}

/// One render of a scene whose kernels are compiled.
inline double hot(const std::string &path, const std::string &variant_name, int spp,
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
