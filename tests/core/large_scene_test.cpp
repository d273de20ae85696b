// tests/core/large_scene_test.cpp: large scene files, which are read a few elements at a time.
#include "core/scene_file.h"
#include "core/scene_xml.h"
#include "support/backend_fixture.h"
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <pugixml.hpp>

namespace umbel {
namespace {

void expect_contains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << "in:  " << text << "\nnot: " << part;
}

std::string many_spheres(size_t count) {
    std::string text = "<scene version=\"3.0.0\">\n<bsdf type=\"diffuse\" id=\"grey\"/>\n";
    for (size_t i = 0; i < count; ++i)
        text += fmt::format("<shape type=\"sphere\">\n  <point name=\"center\" x=\"{}\" y=\"0\" "
                            "z=\"1\"/>\n  <float name=\"radius\" value=\"0.25\"/>\n  <ref "
                            "id=\"grey\"/>\n</shape>\n",
                            i);
    return text + "</scene>\n";
}

TEST(LargeScenes, ElementsHaveTheirLines) {
    std::string text = many_spheres(20000);
    ASSERT_GT(text.size(), scene_xml::stream_from);
    Properties p = parse_scene_string(text, {}, "large.xml");
    ASSERT_EQ(p.objects("shape").size(), 20000u);
    for (size_t i : { 0u, 700u, 19999u }) {
        PropertiesPtr sphere = p.objects("shape")[i];
        EXPECT_EQ(sphere->where.str(), fmt::format("large.xml:{}", 3 + 5 * i));
        EXPECT_EQ(sphere->find("radius")->where.str(), fmt::format("large.xml:{}", 5 + 5 * i));
        EXPECT_EQ(sphere->get<VectorData>("center").x, double(i));
        EXPECT_EQ(sphere->objects("bsdf").at(0), p.objects("bsdf").at(0));
    }
}

TEST(LargeScenes, MistakesInThemAreNamedWithTheirLines) {
    std::string text = many_spheres(20000);
    auto with = [&](std::string_view what, std::string_view by) {
        std::string changed = text;
        size_t at = changed.rfind(what);
        return changed.replace(at, what.size(), by);
    };
    auto message = [&](std::string_view what, std::string_view by) {
        std::string changed = with(what, by);
        return test::user_error([&] { parse_scene_string(changed, {}, "large.xml"); });
    };
    expect_contains(message("\"radius\"", "\"centre\" id=\"a\""), "large.xml:100000");
    expect_contains(message("<ref id", "<ref it"), "large.xml:100001");
    expect_contains(message("  <ref", "</shape><ref"), "not well-formed XML");
    expect_contains(message("</shape>", "</sphere>"), "large.xml:100002: this is not well-formed");
    expect_contains(message("</scene>", "</room>"), "large.xml:100003: this is not well-formed");
    expect_contains(message("</scene>", ""), "not well-formed XML");
    expect_contains(message("</scene>", "words</scene>"), "contains the text");
    expect_contains(message("</scene>", "</scene><scene/>"),
                    "large.xml:100003: <scene> is a second");
    expect_contains(message("</scene>", "</scene></scene>"), "large.xml:100003: this is not");
    expect_contains(message("<scene", "<!DOCTYPE a [<!ENTITY b \"c\">]><scene"), "entities");
}

// Bytes that trees of XML take, and took at most.
struct TreeBytes {
    static inline size_t now = 0, most = 0;
    static void *allocate(size_t n) {
        auto *block = static_cast<size_t *>(std::malloc(n + 16));
        if (!block)
            return nullptr;
        *block = n;
        most = std::max(most, now += n);
        return block + 2;
    }
    static void release(void *p) {
        auto *block = static_cast<size_t *>(p) - 2;
        now -= *block;
        std::free(block);
    }
    pugi::allocation_function before = pugi::get_memory_allocation_function();
    pugi::deallocation_function before_too = pugi::get_memory_deallocation_function();
    TreeBytes() {
        now = most = 0;
        pugi::set_memory_management_functions(allocate, release);
    }
    ~TreeBytes() { pugi::set_memory_management_functions(before, before_too); }
};

TEST(LargeScenes, AreNeverATreeInMemory) {
    std::string text = many_spheres(30'000), group = text;
    group.replace(group.find("<bsdf"), 0,
                  "<shape type=\"shapegroup\">"); // and nor are large objects
    group.replace(group.find("</scene>"), 0, "</shape>");
    for (const std::string *of : { &text, &group }) {
        const std::string &t = *of;
        TreeBytes bytes;
        Properties p = parse_scene_string(t);
        EXPECT_EQ(p.objects("shape").size(), of == &text ? 30'000u : 1u);
        EXPECT_LT(TreeBytes::most, t.size() / 8);
        EXPECT_EQ(TreeBytes::now, 0u);
    }
}

} // namespace
} // namespace umbel
