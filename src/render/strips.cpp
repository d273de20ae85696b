// render/strips.cpp: see render/strips.h.
#include "render/strips.h"
#include "core/image_strips.h"

namespace umbel {

std::filesystem::path render_strips(const Scene &scene, const RenderOptions &options,
                                    const std::filesystem::path &path,
                                    const std::function<bool(double)> &go_on) {
    VariantScope scope(scene.scene_variant());
    Ref<const Sensor> sensor =
        options.from ? options.from : Ref<const Sensor>(scene.sensors().at(size_t(options.sensor)));
    Ref<const Integrator> integrator = options.integrator ? options.integrator : scene.integrator();
    if (integrator->splats())
        integrator->complain(
            "light that is followed from its source falls anywhere on the image: "
            "a film that is written strip by strip cannot collect it; use hdrfilm");
    const Film &film = sensor->film();
    const Film::Crop all = film.crop();
    int rows = film.strip_rows();
    check(rows > 0);
    std::filesystem::path file = film.file_name(path);
    std::vector<std::string> names = film.image_names(film.channel_names(integrator->aov_names()));
    std::shared_ptr<ImageStrips> out = film.open_strips(file, names);
    for (int y = 0; y < all.height; y += rows) {
        RenderOptions strip = options;
        strip.window = { all.x, all.y + y, all.width, std::min(rows, all.height - y) };
        Render render(scene, strip);
        while (!render.stopped()) {
            render.step();
            render.wait();
            if (!go_on((y + render.progress() * strip.window->height) / all.height))
                return {};
        }
        if (!render.done())
            return {};
        out->add(render.image());
    }
    out->finish();
    return file;
}

} // namespace umbel
