// tests/cli/manual_test.cpp: what `umbel help` prints, and the manual made of it.
#include "cli/program.h"

namespace umbel::test {

using CliHelp = Cli;

TEST_F(CliHelp, ListsAllKindsAndPlugins) {
    std::string all = umbel("help").output;
    for (const char *kind : { "bsdf", "emitter", "film", "integrator", "rfilter", "sampler",
                              "scene", "sensor", "shape", "texture" })
        EXPECT_NE(all.find(std::string(kind) + " "), std::string::npos) << kind << "\n" << all;
    for (const char *plugin :
         { " diffuse", " roughdielectric", " shapegroup", " path", " hdrfilm" })
        EXPECT_NE(all.find(plugin), std::string::npos) << plugin << "\n" << all;
    expect_output(umbel("help bsdf/diffuse"), 0, "reflectance");
    expect_output(umbel("help bsdf/difuse"), 1, "did you mean \"diffuse\"?");
    expect_output(umbel("help bsdv"), 1, "did you mean \"bsdf\"?");
}

TEST_F(CliHelp, DocsPluginsIsUpToDate) {
    std::string root = std::filesystem::current_path().string(); // tests run in the repository
    std::string made = umbel("help --markdown --sources '" + root + "'", "UMBEL_PLUGINS=").output;
    EXPECT_TRUE(made == contents("docs/plugins.md"))
        << "a plugin's declaration or comment has changed; run ./umbel docs";
}

} // namespace umbel::test
