// examples/scene_from_code.cpp: a scene built from nested Properties, as dictionaries of other languages would be.
//
// Names and types are those of scene files; `umbel help KIND/PLUGIN` lists them. A nested object is a parameter like any
// other: its name matters where a plugin asks for it by name ("reflectance"), and may be empty where its kind says it all.
#include "core/host_array.h"
#include "render/driver.h"
#include <cstdio>
#include <cstdlib>

using namespace umbel;

Properties diffuse(double r, double g, double b) {
    return Properties("bsdf", "diffuse").set("reflectance", SpectrumData::from_rgb({ r, g, b }));
}

int main() {
    // What everything from here on is computed in
    VariantScope scope(find_variant("interp_rgb"));

    Properties film("film", "hdrfilm");
    film.set("width", int64_t(32)).set("height", int64_t(32));
    Properties camera("sensor", "perspective");
    camera.set("fov", 40.0)
        .set("to_world", *TransformData::look_at({ 0, -4, 2 }, { 0, 0, 0 }, { 0, 0, 1 }))
        .set("", std::move(film))
        .set("", Properties("sampler", "independent").set("sample_count", int64_t(64)));

    // An object that is named twice is shared: both shapes below have the same material.
    auto grey = std::make_shared<Properties>(diffuse(0.5, 0.5, 0.5));

    Properties scene("scene", "scene");
    scene.set("", Properties("integrator", "path").set("max_depth", int64_t(6)))
        .set("", std::move(camera))
        .set(
            "",
            Properties("emitter", "constant").set("radiance", SpectrumData::from_rgb({ 1, 1, 1 })));
    scene.set("floor", Properties("shape", "rectangle")
                           .set("to_world", TransformData::scale({ 2, 2, 1 }))
                           .set("bsdf", PropertyValue(grey)));
    scene.set("ball", Properties("shape", "sphere")
                          .set("center", VectorData{ 0, 0, 0.5 })
                          .set("radius", 0.5)
                          .set("bsdf", PropertyValue(grey)));

    Ref<Scene> loaded = load_scene(scene);
    Render render(*loaded, { .seed = 1 });
    render.run();
    Image image = render.image();

    // The middle shows the ball, which is darker than the light around it
    auto mean = [&](size_t x, size_t y, size_t size) {
        double sum = 0;
        for (size_t i = 0; i < size * size; ++i)
            sum += image.get(x + i % size, y + i / size, 0);
        return sum / double(size * size);
    };
    double middle = mean(14, 12, 4), corner = mean(2, 0, 4);
    std::printf("%zu shapes, %zu materials; middle %.2f, corner %.2f\n", loaded->shapes().size(),
                loaded->bsdfs().objects().size(), middle, corner);
    bool good = loaded->shapes().size() == 2 && loaded->bsdfs().objects().size() == 1 &&
                middle > 0.2 && middle < 0.7 && corner > 0.9;

    // Mistakes are found as in files
    try {
        load_scene(
            Properties("scene", "scene").set("", Properties("shape", "sphere").set("radios", 2.0)));
        good = false;
    } catch (const UserError &e) {
        std::printf("%s\n", e.what());
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
