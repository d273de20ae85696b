// support/registry.h: every plugin that there is, in a scene in which it has something to do.
//
// A plugin enters the tests by being registered. Where its defaults do not suffice, or do not show all that it can, its
// declaration has examples (Params::example); each of them is tried. Files that examples name lie in `$files`: mesh.obj,
// mesh.ply (with texture coordinates and colours), mesh.serialized (two meshes), gaussians.ply, ellipsoids.ply, curves.txt, hair.txt,
// staple.wv, filament.wv, scene.gltf, image.png, environment.exr, measured.bsdf, measured_anisotropic.bsdf, measured.pbsdf, grey.vol,
// colour.vol, flakes.vol and ball.vol (distances).
#pragma once
#include "support/scenes.h"

namespace umbel::test {

/// A plugin with parameters to be tried.
struct Example {
    const Plugin *plugin;
    std::string parameters; // as a scene file has them
    size_t number;          // among the plugin's examples

    /// bsdf_diffuse; bsdf_diffuse_2 for the second one.
    std::string name() const;
};
void PrintTo(const Example &e, std::ostream *out);

/// Of all plugins, or of those of a kind.
std::vector<Example> examples(std::string_view kind = {});

/// A scene around it; `alone`, without surfaces but its own. UserError for a kind of plugin that nobody has told what to do.
std::string scene_of(const Example &e, bool alone = false);
/// Such a scene with an element in the object that is tried, in place of one of that name.
std::string with_parameter(std::string xml, const std::string &element);
/// The object that such a scene tries; null where traversal does not find it.
Ref<Object> tried_object(const Ref<Scene> &scene);

/// Both.
template <class T> struct Tried {
    Ref<Scene> scene; // keeps alive what the object refers to
    Ref<T> object;
    T *operator->() const { return object.get(); }
    T &operator*() const { return *object; }
};
template <class T> Tried<T> load_example(const Example &e, bool alone = false) {
    Ref<Scene> scene = scene_from(scene_of(e, alone));
    return { scene, std::dynamic_pointer_cast<T>(tried_object(scene)) };
}

/// Tests of each example of a kind: `UMBEL_EXAMPLES(BackendBsdfs, "bsdf")`.
#define UMBEL_EXAMPLES(suite, kind)                                                                \
    INSTANTIATE_TEST_SUITE_P(Plugins, suite, testing::ValuesIn(examples(kind)),                    \
                             [](const auto &info) { return info.param.name(); });

/// A test of one example, in a variant.
class ExampleTest : public testing::TestWithParam<Example> {
protected:
    explicit ExampleTest(const char *variant_name) : scope(find_variant(variant_name)) {}
    VariantScope scope;
};

} // namespace umbel::test
