// tests/render/shared_scenes_test.cpp: larger scenes load, and those of old versions hold what their forms of version 3 hold.
//
// UMBEL_SCENES names their folder (default: ../shared/scenes); without it there is nothing to load.
#include "support/scenes.h"
#include <algorithm>
#include <cstdlib>

namespace umbel {
using namespace test;

namespace {

/// The forms of one scene, the first of which the others are compared with.
struct SharedScene {
    const char *name;
    std::vector<const char *> forms;
    size_t shapes, lights, primitives; // it has at least so many
};
void PrintTo(const SharedScene &s, std::ostream *out) { *out << s.name; }

Ref<Scene> load(const std::filesystem::path &path, std::vector<std::string> &warnings) {
    SceneFileOptions options;
    options.warnings = &warnings;
    return load_scene(parse_scene_file(path, options));
}

} // namespace

class SharedScenes : public testing::TestWithParam<SharedScene> {
protected:
    VariantScope scope{ find_variant("llvm_rgb") };
};

TEST_P(SharedScenes, HoldTheSameInAllTheirForms) {
    const SharedScene &s = GetParam();
    const char *set = std::getenv("UMBEL_SCENES");
    std::filesystem::path folder = std::filesystem::path(set ? set : "../shared/scenes") / s.name;
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "set UMBEL_SCENES to a folder of scenes";
    auto primitives = [](const Scene &scene) {
        size_t sum = 0;
        for (const Shape *shape : scene.surfaces())
            sum += shape->primitive_count();
        return sum;
    };
    std::vector<std::string> warnings;
    Ref<Scene> first = load(folder / s.forms[0], warnings);
    EXPECT_GE(first->shapes().size(), s.shapes);
    EXPECT_GE(first->emitters().objects().size(), s.lights);
    EXPECT_GE(primitives(*first), s.primitives);
    for (size_t i = 1; i < s.forms.size(); ++i) {
        Ref<Scene> other = load(folder / s.forms[i], warnings);
        EXPECT_EQ(other->shapes().size(), first->shapes().size()) << s.forms[i];
        EXPECT_EQ(other->emitters().objects().size(), first->emitters().objects().size());
        EXPECT_EQ(other->sensors().size(), first->sensors().size()) << s.forms[i];
        EXPECT_EQ(primitives(*other), primitives(*first)) << s.forms[i];
        for (size_t axis = 0; axis < 3; ++axis) { // both files have the same numbers
            EXPECT_DOUBLE_EQ(other->bounds().min[axis], first->bounds().min[axis]) << s.forms[i];
            EXPECT_DOUBLE_EQ(other->bounds().max[axis], first->bounds().max[axis]) << s.forms[i];
        }
    }
    EXPECT_TRUE(warnings.empty()) << warnings[0];
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedScenes,
    testing::Values(
        SharedScene{ "cbox", { "cbox.xml", "cbox-rgb.xml", "cbox-spectral.xml" }, 8, 1, 36 },
        SharedScene{ "matpreview", { "matpreview.xml" }, 3, 1, 50'000 },
        SharedScene{ "staircase", { "scene.xml", "scene-v3.xml" }, 775, 1, 250'000 },
        SharedScene{ "living-room", { "scene.xml", "scene-v3.xml" }, 65, 1, 140'000 },
        SharedScene{ "veach-bidir", { "scene.xml", "scene-v3.xml" }, 11, 2, 11 }),
    [](auto &info) {
        std::string name = info.param.name;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

} // namespace umbel
