// tests/plugins/hair_shape_test.cpp: files of hair.
#include "support/mesh_files.h"
#include "support/surface.h"
#include <cstring>

namespace umbel {
using namespace test;

class HairFiles : public MeshFileTest {
protected:
    Ref<Shape> hair(const std::string &bytes, double threshold = 1, double reduction = 0) {
        return make_object<Shape>(Properties("shape", "hair")
                                      .set("filename", write("x.hair", bytes))
                                      .set("radius", 0.1)
                                      .set("angle_threshold", threshold)
                                      .set("reduction", reduction));
    }
    static std::string binary(const std::vector<float> &numbers, uint32_t count) {
        std::string f = "BINARY_HAIR";
        f.append(reinterpret_cast<const char *>(&count), 4);
        f.append(reinterpret_cast<const char *>(numbers.data()), 4 * numbers.size());
        return f;
    }
    static const Curves &curves(const Ref<Shape> &s) {
        return *dynamic_cast<const AnalyticShape &>(*s).curves();
    }
};

TEST_F(HairFiles, AreTheSameAsTextAndBinary) {
    Ref<Shape> text = hair("0 0 0\n1 0 0\n1 1 0\n\n0 0 2\n0 1 2\n");
    float next = std::numeric_limits<float>::infinity();
    Ref<Shape> bytes = hair(binary({ 0, 0, 0, 1, 0, 0, 1, 1, 0, next, 0, 0, 2, 0, 1, 2 }, 5));
    EXPECT_EQ(curves(text).points, curves(bytes).points);
    EXPECT_EQ(curves(text).segments, (std::vector<uint32_t>{ 0, 1, 3 }));
    EXPECT_EQ(curves(bytes).segments, curves(text).segments);
    EXPECT_EQ(curves(text).points[4], (std::array<double, 4>{ 0, 1, 2, 0.1 }));
}

TEST_F(HairFiles, LoseVerticesWhereTheyHardlyBend) {
    const char *bent = "0 0 0\n1 0 0\n2 0.01 0\n3 0.01 0\n3 1 0\n";
    EXPECT_EQ(curves(hair(bent, 0)).points.size(), 5u);
    EXPECT_EQ(curves(hair(bent, 1)).points.size(), 3u);
    EXPECT_EQ(curves(hair(bent, 180)).points.size(), 2u);
}

TEST_F(HairFiles, BecomeFewerAndWider) {
    std::string many;
    for (int i = 0; i < 4000; ++i)
        many += fmt::format("{0} 0 0\n{0} 1 0\n\n", i);
    Ref<Shape> few = hair(many, 1, 0.75);
    EXPECT_NEAR(double(curves(few).segments.size()), 1000, 4 * std::sqrt(750.0));
    EXPECT_NEAR(curves(few).points[0][3], 0.4, 1e-9);
    EXPECT_NEAR(few->area(), hair(many)->area(), 0.15 * few->area());
}

TEST_F(HairFiles, SayWhatIsWrong) {
    EXPECT_NE(user_error([&] { hair(binary({ 0, 0, 0, 1 }, 2)); }).find("x.hair: offset 31"),
              std::string::npos);
    EXPECT_NE(user_error([&] { hair("0 0 0\n1 2\n"); }).find("x.hair:2"), std::string::npos);
    EXPECT_NE(user_error([&] { hair("0 0 0\n"); }).find("two vertices"), std::string::npos);
    expect_refused("<shape type='hair'><string name='filename' value='nowhere'/></shape>",
                   { "nowhere" });
}

} // namespace umbel
