// tests/plugins/envmap_test.cpp: images around scenes: where their pixels are seen, how they are sampled, bad ones.
#include "ad/ad.h"
#include "core/image_io.h"
#include "core/traverse.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

// Pixels differ in all channels.
std::shared_ptr<Image> picture(size_t width, size_t height) {
    auto image = std::make_shared<Image>(width, height, std::vector<std::string>{ "R", "G", "B" },
                                         Component::F32);
    for (size_t i = 0; i < 3 * width * height; ++i)
        image->set(i / 3 % width, i / 3 / width, i % 3, 0.2 + double(i * 29 % 41) / 10);
    return image;
}
Properties environment(std::shared_ptr<const Image> image) {
    return Properties("emitter", "envmap").set("bitmap", std::move(image));
}
// The direction that is seen at a place of the image.
std::array<double, 3> direction(double u, double v) {
    double phi = 2 * Pi * u, theta = Pi * v;
    return { std::sin(theta) * std::sin(phi), std::cos(theta), -std::sin(theta) * std::cos(phi) };
}
std::vector<double> seen(const Emitter &e, const std::array<double, 3> &d) {
    SurfaceInteraction si =
        hit_from(-Vector3(opaque_float(d[0]), opaque_float(d[1]), opaque_float(d[2])));
    std::vector<double> out;
    for (const Float &v : unpolarized(e.eval(si, true)).c)
        out.push_back(read_floats(v)[0]);
    return out;
}

} // namespace

class BackendEnvmap : public VariantTest {};
UMBEL_VARIANTS(BackendEnvmap, "interp_rgb", "llvm_rgb_double", "llvm_rgb_polarized")

// Columns half a pixel inside, rows from pole to pole.
TEST_P(BackendEnvmap, PixelsAreSeenWhereTheyBelong) {
    auto image = picture(6, 4);
    auto e = make_object<Emitter>(environment(image).set("scale", 2.0));
    for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 6; ++x) {
            std::vector<double> got = seen(*e, direction((double(x) + 0.5) / 6, double(y) / 3));
            for (size_t c = 0; c < 3; ++c) {
                // At the poles, every longitude is one direction
                if (y == 1 || y == 2)
                    EXPECT_NEAR(got[c], 2 * image->get(x, y, c), 2e-5) << x << ", " << y;
                else
                    EXPECT_GT(got[c], 0);
            }
        }
    // Half-way between columns, across the seam, and between rows
    EXPECT_NEAR(seen(*e, direction(0, 1 / 3.0))[0], image->get(0, 1, 0) + image->get(5, 1, 0),
                2e-5);
    EXPECT_NEAR(seen(*e, direction(2.5 / 6, 0.5))[1], image->get(2, 1, 1) + image->get(2, 2, 1),
                2e-5);
}

TEST_P(BackendEnvmap, TurnsWithItsTransform) {
    auto image = picture(8, 5);
    auto e = make_object<Emitter>(environment(image).set(
        "to_world", TransformData::translate({ 1, 2, 3 }) * TransformData::rotate({ 1, 0, 0 }, 90) *
                        TransformData::scale({ 2, 2, 2 })));
    auto d = direction(3.5 / 8, 0.5); // (x, y, z) is turned to (x, -z, y)
    EXPECT_NEAR(seen(*e, { d[0], -d[2], d[1] })[2], image->get(3, 2, 2), 1e-5);
}

TEST_P(BackendEnvmap, DensityIntegratesToOneAndGuidesToLight) {
    auto image = picture(9, 6);
    image->set(4, 2, 1, 1000); // a sun
    image->set(3, 0, 0, 500);  // a pole, above black
    for (size_t c = 0; c < 3; ++c)
        image->set(3, 1, c, 0);
    for (bool compensate : { false, true }) {
        auto e = make_object<Emitter>(environment(image).set("mis_compensation", compensate));
        const int n = 200;
        std::vector<double> x, y, z, area;
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < 2 * n; ++k) {
                auto d = direction((k + 0.5) / (2 * n), (i + 0.5) / n);
                x.push_back(d[0]), y.push_back(d[1]), z.push_back(d[2]);
                area.push_back(std::sin(Pi * (i + 0.5) / n) * Pi * Pi / (n * n));
            }
        DirectionSample ds;
        ds.d = { float_array(x), float_array(y), float_array(z) };
        Interaction it = hit_from(Vector3(0, 0, 1));
        std::vector<double> pdf = read_floats(e->pdf_direction(it, ds, true));
        double sum = 0;
        bool all = true;
        for (size_t i = 0; i < pdf.size(); ++i) {
            sum += pdf[i] * area[i];
            all &= pdf[i] > 0;
        }
        EXPECT_NEAR(sum, 1, 2e-3);
        EXPECT_EQ(all, !compensate) << "what is darker than the average is left out";
    }
}

TEST_P(BackendEnvmap, OfOneColourIsAConstantEnvironment) {
    for (auto [width, height] : { std::pair(1, 1), { 4, 2 }, { 16, 8 } }) {
        auto image = std::make_shared<Image>(size_t(width), size_t(height),
                                             std::vector<std::string>{ "Y" }, Component::F32);
        for (size_t y = 0; y < size_t(height); ++y)
            for (size_t x = 0; x < size_t(width); ++x)
                image->set(x, y, 0, 0.5);
        Properties scene = parse_scene_string(
            scene_xml("<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                      "</transform><bsdf type='diffuse'><float name='reflectance' value='0.5'/>"
                      "</bsdf></shape>",
                      16, 64));
        scene.set("", environment(image));
        expect_mean(render_image(*load_scene(scene)), 0.25);
    }
}

// A light that does not move with the image has derivatives by it; samples have the same, over their density.
TEST(Envmap, WeightsOfSamplesFollowTheImage) {
    VariantScope scope(find_variant("interp_ad_rgb_double"));
    {
        auto e = make_object<Emitter>(environment(picture(5, 4)));
        SceneParameters params(e);
        Value *data = nullptr;
        for (const SceneParameter &p : params.all())
            if (p.key == "data")
                data = std::get<TensorSlot>(p.param.slot).data;
        ASSERT_TRUE(data);
        auto gradient = [&](bool sampled) {
            *data = float_array(read_floats(Float(data->detached())));
            ad::enable_grad(*data, "data");
            params.update({ "data" });
            Interaction it = hit_from(Vector3(0, 0, 1));
            auto [ds, weight] =
                e->sample_direction(it, { opaque_float(0.37), opaque_float(0.61) }, true);
            Float out = weight[1];
            if (!sampled)
                out = e->eval_direction(it, ds, true)[1] / Float(ad::detach(ds.pdf));
            ad::accumulate_grad(out, Float(1));
            ad::enqueue(ad::Mode::Backward, out);
            ad::traverse(ad::Mode::Backward);
            std::vector<double> g = read_floats(Float(ad::grad(*data)));
            *data = data->detached();
            params.update({ "data" });
            return g;
        };
        std::vector<double> a = gradient(true), b = gradient(false);
        double most = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            EXPECT_NEAR(a[i], b[i], 1e-9);
            most = std::max(most, a[i]);
        }
        EXPECT_GT(most, 0.1);
    }
}

TEST(Envmap, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto complaint = [](const Properties &p) {
        return user_error([&] { make_object<Emitter>(p); });
    };
    auto image = picture(4, 3);
    image->set(2, 1, 0, -1);
    std::string message = complaint(environment(image));
    EXPECT_NE(message.find("column 2, row 1 is -1"), std::string::npos) << message;
    image->set(2, 1, 0, std::nan(""));
    EXPECT_NE(complaint(environment(image)).find("column 2, row 1"), std::string::npos);
    message =
        complaint(environment(picture(4, 3)).set("to_world", TransformData::scale({ 1, 2, 1 })));
    EXPECT_NE(message.find("stretches"), std::string::npos) << message;
    expect_refused("<emitter type='envmap'/>", { "filename" });
    expect_refused("<shape type='sphere'><emitter type='envmap'><string name='filename' "
                   "value='scenes/none.exr'/></emitter></shape>",
                   { "none.exr" });
}

// What is black is still an environment.
TEST(Envmap, MayBeBlack) {
    VariantScope scope(find_variant("interp_rgb"));
    auto image =
        std::make_shared<Image>(4, 4, std::vector<std::string>{ "R", "G", "B" }, Component::F32);
    auto e = make_object<Emitter>(environment(image));
    auto [ds, light] =
        e->sample_direction(hit_from(Vector3(0, 0, 1)), { Float(0.3), Float(0.6) }, true);
    EXPECT_GT(read_floats(ds.pdf)[0], 0);
    EXPECT_EQ(read_floats(light[0])[0], 0);
}

} // namespace umbel
