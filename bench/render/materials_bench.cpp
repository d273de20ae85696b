// bench/render/materials_bench.cpp: how cost grows with the number of objects in a scene.
#include "ad/ad.h"
#include "render/render_image.h"
#include "render_program.h"
#include "scenes.h"

namespace umbel::bench {
namespace {

// ---- hot renders

double materials(const char *name) { return hot(made_scene(name), "llvm_rgb", 32); }

BENCH("diffuse, 1 material", "s") { return materials("diffuse-1"); }
BENCH("diffuse, 4 materials", "s") { return materials("diffuse-4"); }
BENCH("diffuse, 16 materials", "s") { return materials("diffuse-16"); }
BENCH("diffuse, 64 materials", "s") { return materials("diffuse-64"); }
BENCH("diffuse, 1 of 1,000 cubes", "s") { return materials("diffuse-1-of-1000"); }
BENCH("diffuse, 1,000 materials", "s") { return materials("diffuse-1000-of-1000"); }
BENCH("rough, 1 material", "s") { return materials("rough-1"); }
BENCH("rough, 4 materials", "s") { return materials("rough-4"); }
BENCH("rough, 16 materials", "s") { return materials("rough-16"); }
BENCH("rough, 64 materials", "s") { return materials("rough-64"); }
BENCH("rough, 1 of 1,000 cubes", "s") { return materials("rough-1-of-1000"); }
BENCH("rough, 1,000 materials", "s") { return materials("rough-1000-of-1000"); }
BENCH("textured, 64 materials", "s") { return materials("textured-64"); }
BENCH("20 classes mixed", "s") { return materials("mixed-20"); }

BENCH("1 of 10,000 lamps", "s") { return materials("town-1"); }
BENCH("10,000 lamps", "s") { return materials("town-10000"); }
Image lamps(const char *scene, const char *lights, int spp, uint32_t seed,
            Definitions definitions) {
    definitions.insert(
        { { "lights", lights }, { "hide", "true" }, { "width", "160" }, { "height", "160" } });
    const Loaded &l = load(made_scene(scene), "llvm_rgb", definitions);
    VariantScope scope(*l.variant);
    Render render(*l.scene, { .spp = spp, .seed = seed });
    render.run();
    return render.image();
}
double squared_error(const Image &a, const Image &b) {
    double sum = 0;
    for (size_t y = 0; y < a.height(); ++y)
        for (size_t x = 0; x < a.width(); ++x)
            for (size_t c = 0; c < 3; ++c) {
                double e = a.get(x, y, c) - b.get(x, y, c);
                sum += e * e;
            }
    return sum;
}
// Lamps hidden: their edges are as noisy however lights are chosen.
double error_over_uniform(const char *scene, const Definitions &more = {}) {
    Image tree = lamps(scene, "tree", 16, 1, more), truth = lamps(scene, "tree", 1024, 2, more),
          uniform = lamps(scene, "uniform", 16, 3, more);
    return squared_error(tree, truth) / squared_error(uniform, truth);
}
BENCH("10,000 lamps, error over uniform", "x") { return error_over_uniform("town-10000"); }

double room(const char *name) { return hot(made_scene(name), "llvm_rgb", 4); }
BENCH("staircase, 1 of 10,000 lamps", "s") { return room("staircase-lamps-1"); }
BENCH("staircase, 10,000 lamps", "s") { return room("staircase-lamps-10000"); }
BENCH("living-room, 1 of 10,000 lamps", "s") { return room("living-room-lamps-1"); }
BENCH("living-room, 10,000 lamps", "s") { return room("living-room-lamps-10000"); }
BENCH("staircase in a town, 1 of 10,000 lamps", "s") { return room("staircase-town-1"); }
BENCH("staircase in a town, 10,000 lamps", "s") { return room("staircase-town-10000"); }
BENCH("living-room in a town, 1 of 10,000 lamps", "s") { return room("living-room-town-1"); }
BENCH("living-room in a town, 10,000 lamps", "s") { return room("living-room-town-10000"); }
BENCH("staircase in a town, 10,000 lamps, error over uniform", "x") {
    return error_over_uniform("staircase-town-10000");
}
BENCH("living-room in a town, 10,000 lamps, error over uniform", "x") {
    return error_over_uniform("living-room-town-10000");
}
// What a choice of lights can change: no lamp is met by chance after mirrors and glass.
BENCH("staircase in a town, 10,000 lamps, error over uniform, direct light", "x") {
    return error_over_uniform("staircase-town-10000", { { "maxDepth", "2" } });
}
BENCH("living-room in a town, 10,000 lamps, error over uniform, direct light", "x") {
    return error_over_uniform("living-room-town-10000", { { "maxDepth", "2" } });
}
BENCH("staircase, 10,000 lamps, error over uniform", "x") {
    return error_over_uniform("staircase-lamps-10000");
}
BENCH("living-room, 10,000 lamps, error over uniform", "x") {
    return error_over_uniform("living-room-lamps-10000");
}

// ---- derivatives

double rough_iteration(bool gradient) {
    const Loaded &l = load(made_scene("rough-64"), "llvm_rgb");
    VariantScope scope(*l.variant);
    SceneParameters params(l.scene);
    std::vector<std::string> keys;
    for (const SceneParameter &p : params.all())
        if (p.key.ends_with("alpha.value"))
            keys.push_back(p.key);
    if (keys.size() != 64)
        throw std::runtime_error("64 roughnesses expected");
    uint32_t seed = 0;
    return seconds(
        [&] {
            if (gradient) {
                for (const std::string &key : keys) {
                    Float &v = *std::get<Float *>(params.at(key).param.slot);
                    v = Float(ad::detach(v));
                    ad::enable_grad(v);
                }
                params.update(keys);
            }
            seed += 2;
            Float image =
                render_image(l.scene, gradient ? &params : nullptr, { .spp = 16, .seed = seed },
                             { .spp = 16, .seed = seed + 1 });
            if (gradient) {
                Float loss =
                    Float(jit::reduce(jit::ReduceOp::Add, image * image)) / double(image.size());
                ad::backward(loss);
                for (const std::string &key : keys)
                    jit::schedule(ad::grad(*std::get<Float *>(params.at(key).param.slot)));
            } else
                jit::schedule(image);
            jit::eval();
            jit::synchronize();
        },
        2, 0.5);
}

BENCH("rough, 64 gradients", "s") { return rough_iteration(true); }
BENCH("rough, gradients over primal", "x") {
    double primal = rough_iteration(false);
    return (rough_iteration(true) - primal) / primal;
}

// ---- first images: the command line's whole run with an empty cache, less that of a scene with one object

Run first_image(const std::string &name) {
    Run best{ 1e300, 1e300 };
    for (int i = 0; i < 3; ++i) {
        Run run = render_program(made_scene(name), "llvm_rgb", Cache::Cold);
        best.seconds = std::min(best.seconds, run.seconds);
        best.bytes = std::min(best.bytes, run.bytes);
    }
    return best;
}

double more_time(const char *many, const char *one) {
    return first_image(many).seconds - first_image(one).seconds;
}
// Of scenes whose programs are the same.
double more_bytes(const char *many, const char *few, int more) {
    return (first_image(many).bytes - first_image(few).bytes) / more;
}

BENCH("first image, 1,000 materials", "s") {
    return more_time("diffuse-1000-of-1000", "diffuse-1-of-1000");
}
BENCH("first image, 10,000 materials", "s") {
    return more_time("diffuse-10000-of-10000", "diffuse-1-of-10000");
}
BENCH("first image, 1,000 spheres", "s") { return more_time("sphere-1000", "sphere-1"); }
BENCH("first image, 10,000 points", "s") { return more_time("point-10000", "point-1"); }
BENCH("first image, 1,000 areas", "s") { return more_time("area-1000", "area-1"); }
BENCH("first image, 100,000 shapes", "s") { return first_image("crowd").seconds; }
BENCH("memory of 100,000 shapes", "B") { return first_image("crowd").bytes; }
BENCH("memory of a material", "B") {
    return more_bytes("diffuse-10000-of-10000", "diffuse-1-of-10000", 9999);
}
BENCH("memory of a point light", "B") { return more_bytes("point-10000", "point-1000", 9000); }
// With a material and its colour.
BENCH("memory of a sphere", "B") { return more_bytes("sphere-10000", "sphere-1000", 9000); }
// With its surface, colour and default material.
BENCH("memory of an area light", "B") { return more_bytes("area-10000", "area-1000", 9000); }

} // namespace
} // namespace umbel::bench
