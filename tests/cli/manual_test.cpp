// tests/cli/manual_test.cpp: what `umbel help` prints, and the manual made of it.
#include "cli/program.h"
#include <sstream>

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

// All that docs/plugins.md has, save the form of its table.
TEST_F(CliHelp, SaysWhatTheManualSays) {
    std::string manual = contents("docs/plugins.md");
    for (const char *topic : { "bsdf/roughconductor", "sensor/batch", "sampler/sobol" }) {
        std::string name = std::string(topic).substr(std::string(topic).find('/') + 1),
                    help = umbel(fmt::format("help {}", topic)).output;
        EXPECT_EQ(umbel("help " + name).output, help);
        size_t begin = manual.find("### `" + name + "`\n");
        ASSERT_NE(begin, std::string::npos);
        std::istringstream lines(manual.substr(begin, manual.find("\n### ", begin) - begin));
        std::string line;
        std::getline(lines, line); // its heading
        while (std::getline(lines, line)) {
            if (line.starts_with("| `")) { // a parameter: its name, and what it means
                size_t meaning = line.rfind(" | ") + 3;
                EXPECT_NE(help.find("\n  " + line.substr(3, line.find('`', 3) - 3) + " "),
                          help.npos);
                line = line.substr(meaning, line.rfind(" |") - meaning);
            }
            if (!line.starts_with("```") && !line.starts_with("| ")) {
                EXPECT_NE(help.find(line), std::string::npos) << line << "\n" << help;
            }
        }
        EXPECT_NE(help.find("mi.load_dict("), std::string::npos) << help;
    }
}

TEST_F(CliHelp, DescribesAllPluginsOfAName) {
    std::string hair = umbel("help hair").output;
    EXPECT_NE(hair.find("hair (bsdf)"), std::string::npos) << hair;
    EXPECT_NE(hair.find("hair (shape)"), std::string::npos) << hair;
    EXPECT_NE(hair.find("\"type\": \"shape/hair\""), std::string::npos) << hair;
    expect_output(umbel("help rufconductor"), 1, "there is no plugin \"rufconductor\"");
}

TEST_F(CliHelp, DocsPluginsIsUpToDate) {
    EXPECT_TRUE(umbel("help --markdown", "UMBEL_PLUGINS=").output == contents("docs/plugins.md"))
        << "a plugin's declaration, example or comment has changed; run ./umbel docs";
}

} // namespace umbel::test
