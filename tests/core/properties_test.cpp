// tests/core/properties_test.cpp: typed parameters, what was asked for, and nearest names.
#include "core/nearest_name.h"
#include "core/properties.h"
#include "jit/error.h"
#include <cmath>
#include <gtest/gtest.h>

namespace umbel {
namespace {

std::string error_of(auto f) {
    try {
        f();
    } catch (const UserError &e) {
        return e.what();
    }
    return "no error";
}

Properties located_bsdf() {
    Properties p("bsdf", "diffuse", "floor");
    p.where = { std::make_shared<std::string>("room.xml"), 14 };
    return p;
}

TEST(Properties, DictionariesTakeValuesAsTheyAre) {
    Properties p("bsdf", "diffuse");
    p.set("a", 1).set("b", 2.5).set("c", "text").set("d", true).set("e", VectorData{ 1, 2, 3 });
    p.set("f", Properties("texture", "bitmap"));
    EXPECT_EQ(p.get<int64_t>("a"), 1);
    EXPECT_EQ(p.get<double>("b"), 2.5);
    EXPECT_EQ(p.get<std::string>("c"), "text");
    EXPECT_EQ(p.get<bool>("d"), true);
    EXPECT_EQ(p.get<VectorData>("e").y, 2);
    EXPECT_EQ(p.get<PropertiesPtr>("f")->type, "bitmap");
    p.set("a", 7);
    EXPECT_EQ(p.get<int64_t>("a"), 7);
    EXPECT_EQ(p.all().size(), 6u);
}

TEST(Properties, NumbersServeWhereTheyLoseNothing) {
    Properties p("bsdf", "x");
    p.set("n", 3).set("t", TransformData::scale({ 2, 2, 2 }));
    EXPECT_EQ(p.get<double>("n"), 3);
    EXPECT_EQ(p.get<SpectrumData>("n").value, 3);
    EXPECT_EQ(p.get<AnimationData>("t").transforms.size(), 1u);
    EXPECT_EQ(p.get<double>("absent", 0.5), 0.5);
    EXPECT_EQ(p.get<std::string>("absent", "x"), "x");
}

TEST(Properties, WrongTypesAndMissingValuesAreErrors) {
    Properties p = located_bsdf();
    p.set("alpha", "rough");
    EXPECT_EQ(
        error_of([&] { p.get<double>("alpha"); }),
        "room.xml:14: bsdf \"floor\" (diffuse): parameter \"alpha\" is the string \"rough\"; it "
        "must be a float");
    EXPECT_EQ(error_of([&] { p.get<double>("alpha", 0.5); }),
              error_of([&] { p.get<double>("alpha"); }));
    EXPECT_EQ(error_of([&] { p.get<std::string>("filename"); }),
              "room.xml:14: bsdf \"floor\" (diffuse): parameter \"filename\" is missing; give it a "
              "string");
}

TEST(Properties, UnknownParametersNameTheNearestKnownOne) {
    Properties p = located_bsdf();
    p.set("reflectence", 0.5, { p.where.file, 15 });
    p.get<SpectrumData>("reflectance", SpectrumData::uniform(0.5));
    EXPECT_EQ(p.unqueried(), std::vector<std::string>{ "reflectence" });
    EXPECT_EQ(
        error_of([&] { p.finish(); }),
        "room.xml:15: bsdf \"floor\" (diffuse): unknown parameter \"reflectence\"; did you mean "
        "\"reflectance\"?");
    EXPECT_EQ(error_of([&] { p.get<SpectrumData>("reflectance"); }),
              error_of([&] { p.finish(); })); // a required one that is missing says the same
    Properties q = located_bsdf();
    q.set("zzz", 1);
    q.get<double>("alpha", 0);
    EXPECT_EQ(error_of([&] { q.finish(); }),
              "room.xml:14: bsdf \"floor\" (diffuse): unknown parameter \"zzz\"; known parameters: "
              "alpha");
}

TEST(Properties, ObjectsAreFoundByKindAndCountAsAskedFor) {
    Properties p("shape", "x");
    p.set("", Properties("bsdf", "a")).set("", Properties("bsdf", "b"));
    p.set("interior", Properties("medium", "m"));
    EXPECT_EQ(p.unqueried(), (std::vector<std::string>{ "<bsdf>", "<bsdf>", "interior" }));
    EXPECT_EQ(p.objects("bsdf").size(), 2u);
    EXPECT_EQ(p.unqueried(), std::vector<std::string>{ "interior" });
    EXPECT_EQ(p.objects().size(), 3u);
    EXPECT_NO_THROW(p.finish());
}

TEST(Properties, NearestNameForgivesTypingErrorsOnly) {
    std::string known[] = { "alpha", "reflectance", "to_world", "int_ior" };
    EXPECT_EQ(nearest_name("aplha", known), "alpha");
    EXPECT_EQ(nearest_name("toWorld", known), "to_world");
    EXPECT_EQ(nearest_name("intIOR", known), "int_ior");
    EXPECT_EQ(nearest_name("relfectanse", known), "reflectance");
    EXPECT_EQ(nearest_name("temperature", known), "");
    EXPECT_EQ(nearest_name(std::string(100000, 'a'), known), "");
    EXPECT_EQ(name_distance("abc", "acb"), 1);
    EXPECT_EQ(name_distance("", "abc"), 3);
}

TEST(TransformData, InverseUndoesTheTransform) {
    TransformData t = TransformData::translate({ 1, -2, 3 }) *
                      TransformData::rotate({ 1, 2, -1 }, 70) *
                      TransformData::scale({ 2, 3, -0.5 });
    TransformData i = t * *t.inverse();
    for (int k = 0; k < 16; ++k)
        EXPECT_NEAR(i.m[size_t(k)], k % 5 == 0 ? 1 : 0, 1e-14);
    EXPECT_FALSE(TransformData::scale({ 1, 0, 1 }).inverse());
}

TEST(TransformData, QuarterTurnsAreExactAndCounterClockwise) {
    auto r = TransformData::rotate({ 0, 0, 2 }, 90);
    EXPECT_EQ(r.apply_point({ 1, 0, 0 }), (TransformData::Vec{ 0, 1, 0 }));
    EXPECT_EQ(r * r * r * r, TransformData());
}

} // namespace
} // namespace umbel
