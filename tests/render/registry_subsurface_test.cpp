// tests/render/registry_subsurface_test.cpp: what holds for every subsurface model that there is; see support/registry.h.
#include "render/subsurface.h"
#include "support/media.h"
#include "support/registry.h"

namespace umbel {
using namespace test;

class BackendSubsurfaces : public ExampleTest {
protected:
    BackendSubsurfaces() : ExampleTest("llvm_rgb") {}
    /// A black sphere that is lit from all sides.
    std::string sphere() const {
        std::string xml = scene_of(GetParam()), was = "<bsdf type='diffuse'/>";
        xml.replace(xml.find(was), was.size(),
                    "<bsdf type='diffuse'><rgb name='reflectance' value='0,0,0'/></bsdf>");
        return xml;
    }
};
UMBEL_EXAMPLES(BackendSubsurfaces, "subsurface")

// Under light of radiance 1 from all sides nothing is brighter than 1.
TEST_P(BackendSubsurfaces, GivesNoMoreThanArrives) {
    Ref<Scene> scene = scene_from(sphere());
    Ray ray{ { Float(0), Float(0), Float(5) },
             { Float(0), Float(0), Float(-1) },
             Float(1e9),
             Float(0),
             {} };
    SurfaceInteraction si = scene->ray_intersect(ray, true);
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    SampleStream stream = sample_stream(*sampler, 1 << 12);
    Spectrum leaves = scene->eval_subsurface(si, stream, true);
    for (const Float &c : leaves.c) {
        Estimate e = estimate(c);
        EXPECT_GT(e.mean, 0);
        EXPECT_LT(e.mean, 1.02 + 4 * e.error); // but for the sum over points
    }
}

// Lights of another brightness are noticed.
TEST_P(BackendSubsurfaces, FollowsTheScene) {
    std::string xml = sphere(), was = "<emitter type='constant'/>";
    xml.replace(xml.find(was), was.size(),
                "<emitter type='constant'><rgb name='radiance' value='2,2,2'/></emitter>");
    Image one = render_image(*scene_from(sphere())), two = render_image(*scene_from(xml));
    size_t x = one.width() / 2, y = one.height() / 2;
    EXPECT_NEAR(two.get(x, y, 0), 2 * one.get(x, y, 0), 1e-4 * two.get(x, y, 0));
}

} // namespace umbel
