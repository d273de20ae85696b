// tests/cli/viewer_test.cpp: the pages of `umbel view` and `umbel compare -o`, as a browser shows them.
#include "cli/program.h"
#include "core/image_io.h"
#include <sstream>

namespace umbel::test {

namespace {

/// The browser that the machine has; empty without one.
std::string browser() {
    const char *chosen = std::getenv("UMBEL_BROWSER");
    for (std::string name : { chosen ? chosen : "chromium", "chromium-browser", "google-chrome" })
        if (std::system(fmt::format("command -v '{}' >/dev/null 2>&1", name).c_str()) == 0)
            return name;
    return {};
}

} // namespace

class CliViewer : public Cli {
protected:
    /// 8 x 4 pixels, red by columns and green by rows, with a channel of depth.
    std::string image(const std::string &name, double scale = 1) const {
        Image image(8, 4, { "R", "G", "B", "depth.Y" });
        for (size_t y = 0; y < 4; ++y)
            for (size_t x = 0; x < 8; ++x) {
                image.set(x, y, 0, scale * double(x) / 8);
                image.set(x, y, 1, scale * double(y) / 4);
                image.set(x, y, 2, 0.25);
                image.set(x, y, 3, 100.0 + double(x));
            }
        write_image(path(name), image);
        return path(name);
    }

    /// Something that is done in the page, and an expression that it is then asked for, both in JavaScript.
    struct Step {
        std::string action, asked;
    };
    /// The answers, of one visit.
    std::vector<std::string> in_browser(const std::string &page,
                                        const std::vector<Step> &steps) const {
        std::string script = "<script>ready.then(() => { const said = [];";
        for (const Step &s : steps)
            script += fmt::format("{} said.push({});", s.action, s.asked);
        script += "document.body.innerHTML = '[[' + said.join('\\n') + ']]'; });</script></body>";
        std::string text = contents(page), dom;
        text.replace(text.rfind("</body>"), 7, script);
        std::string command = fmt::format(
            "{} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
            "--user-data-dir='{}' --window-size=800,600 --virtual-time-budget=10000 --dump-dom "
            "'file://{}' 2>/dev/null </dev/null",
            browser(), path("profile"), file("looked.html", text));
        FILE *pipe = popen(command.c_str(), "r");
        std::array<char, 4096> buffer;
        while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
            dom.append(buffer.data(), n);
        pclose(pipe);
        size_t begin = dom.rfind("<body>[["), end = dom.rfind("]]");
        std::vector<std::string> out;
        if (begin != dom.npos && end != dom.npos) {
            std::istringstream said(dom.substr(begin + 8, end - begin - 8));
            for (std::string line; std::getline(said, line);)
                out.push_back(line);
        }
        EXPECT_EQ(out.size(), steps.size()) << "the page did not get ready:\n"
                                            << dom.substr(0, 500);
        out.resize(steps.size());
        return out;
    }

    /// Moves the pointer to the middle of a pixel.
    static std::string hover(int x, int y) {
        return fmt::format("canvas.dispatchEvent(new MouseEvent('mousemove', {{ clientX: "
                           "canvas.offsetLeft + x0 + {}.5 * zoom, clientY: canvas.offsetTop + y0 + "
                           "{}.5 * zoom }}));",
                           x, y);
    }
    /// The colour that is shown there.
    static std::string shown(int x, int y) {
        return fmt::format("canvas.getContext('2d').getImageData(x0 + {}.5 * zoom, y0 + {}.5 * "
                           "zoom, 1, 1).data.join(' ')",
                           x, y);
    }
    static std::string set(const std::string &id, const std::string &value) {
        return fmt::format("$('{}').value = '{}'; $('{}').dispatchEvent(new Event('input'));", id,
                           value, id);
    }
};

TEST_F(CliViewer, WritesOnePageThatNeedsNothingElse) {
    std::string a = image("a.exr"), b = image("b.exr", 0.5);
    expect_output(umbel("view " + a), 0, path("a.html"));
    std::string page = contents(path("a.html"));
    EXPECT_NE(page.find("\"channels\":[\"R\",\"G\",\"B\",\"depth.Y\"]"), page.npos);
    for (const char *elsewhere : { "http:", "https:", " src=", "@import", "UMBEL_IMAGES" })
        EXPECT_EQ(page.find(elsewhere, page.find("<html")), page.npos) << elsewhere;
    expect_output(umbel(fmt::format("compare {} {} -o {}", a, b, path("c.html"))), 0, "rmse");
    EXPECT_NE(contents(path("c.html")).find("largest"), page.npos);
}

TEST_F(CliViewer, NamesAreOnlyText) {
    std::string a = image("a.exr");
    std::filesystem::create_directories(folder / "<");
    std::filesystem::copy_file(a, folder / "<" / "script><b>.exr");
    expect_output(
        umbel(fmt::format("compare {} '{}' -o {}", a, path("</script><b>.exr"), path("c.html"))), 0,
        "rmse");
    EXPECT_EQ(contents(path("c.html")).find("</script><b>"), std::string::npos);
}

TEST_F(CliViewer, ErrorsSayWhatToDo) {
    expect_output(umbel("view " + path("none.exr")), 1, "none.exr");
    std::string a = image("a.exr");
    expect_output(umbel(fmt::format("view {} -o {}", a, path("page.png"))), 1, "ends with .html");
    expect_output(umbel(fmt::format("view {} -o {}", a, path("no/page.html"))), 1, "no/page.html");
    EXPECT_FALSE(std::filesystem::exists(path("page.png")));
}

TEST_F(CliViewer, ABrowserShowsValuesExposureAndZoom) {
    if (browser().empty())
        GTEST_SKIP() << "no Chromium here; apt-get install chromium";
    umbel(fmt::format("view {}", image("a.exr")));
    std::string wheel = "canvas.dispatchEvent(new WheelEvent('wheel', { clientX: 300, clientY: "
                        "300, deltaY: -300 }));";
    auto said =
        in_browser(path("a.html"),
                   { { hover(3, 2), "$('foot').textContent" },
                     { "", shown(3, 2) },
                     { set("exposure", "1"), shown(3, 2) },
                     { "const before = zoom, x = (300 - x0) / zoom;" + wheel, "zoom / before" },
                     { "", "Math.abs((300 - x0) / zoom - x) < 1e-6" },
                     { "$('fit').click();" + set("exposure", "0") + set("layer", "4"),
                       "$('layer').selectedOptions[0].text" },
                     { "$('colours').click();", shown(7, 0) } });
    EXPECT_EQ(said[0], "(3, 2)  R 0.375  G 0.5  B 0.25  depth.Y 103");
    EXPECT_EQ(said[1], "165 188 137 255"); // sRGB of 0.375, 0.5 and 0.25
    EXPECT_EQ(said[2], "225 255 188 255"); // one stop more
    EXPECT_EQ(said[3], "2");
    EXPECT_EQ(said[4], "true"); // what is below the pointer stays there
    EXPECT_EQ(said[5], "depth.Y");
    EXPECT_EQ(said[6], "255 250 230 255"); // 107 is beyond the scale, which ends with this colour
}

TEST_F(CliViewer, ABrowserShowsDifferences) {
    if (browser().empty())
        GTEST_SKIP() << "no Chromium here; apt-get install chromium";
    umbel(fmt::format("compare {} {} -o {}", image("a.exr"), image("b.exr", 0.5), path("c.html")));
    auto said =
        in_browser(path("c.html"), { { hover(4, 2), "$('foot').textContent" },
                                     { set("mode", "difference"), shown(4, 2) },
                                     { set("mode", "relative") + set("layer", "1"), shown(4, 2) },
                                     { set("image", "1"), "$('modes').style.display" } });
    EXPECT_NE(said[0].find("(4, 2)  R 0.5  G 0.5  B 0.25"), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("difference  R 0.25  G 0.25  B 0  depth.Y 0"), std::string::npos);
    EXPECT_EQ(said[1], "137 137 0 255");
    EXPECT_EQ(said[2], "251 251 251 255"); // 0.25 / (0.25 + 0.01), in one channel
    EXPECT_EQ(said[3], "none");            // the reference has nothing to differ from
}

} // namespace umbel::test
