// render/render_image.cpp: see render/render_image.h.
#include "render/render_image.h"

namespace umbel {

namespace {

Float render_primal(const Scene &scene, const RenderOptions &options, std::array<size_t, 3> *shape,
                    const BetweenLaunches &between, bool is_followed) {
    RenderOptions lazy = options;
    lazy.is_lazy = true;
    lazy.skip_invalid |=
        is_followed; // one NaN would spoil the gradients of all that its pixel shows
    Render render(scene, lazy);
    if (shape)
        *shape = render.tensor_shape();
    for (bool first = true; !render.stopped(); first = false) {
        render.step();
        if (between && !(first && render.done()))
            between(render); // a launch takes a second or so: a caller can stop in between
    }
    return render.tensor();
}

/// The image has been rendered already; this is how it is differentiated.
class RenderImage final : public ad::CustomOp {
public:
    RenderImage(Ref<Scene> scene, Float image, std::vector<Value> followed,
                const RenderOptions &gradient)
        : m_scene(std::move(scene)), m_image(std::move(image)), m_followed(std::move(followed)),
          m_gradient(gradient) {}

    const char *name() const override { return "render"; }

    std::vector<Value> eval(std::span<const Value>) override {
        for (const Value &v : m_followed)
            add_input(v);
        m_followed.clear(); // the scene holds them
        return { std::move(m_image) };
    }
    void backward() override { Render(*m_scene, m_gradient).backward(Float(grad_out(0))); }
    void forward() override { set_grad_out(0, Render(*m_scene, m_gradient).forward()); }

private:
    Ref<Scene> m_scene;
    Float m_image;
    std::vector<Value> m_followed;
    RenderOptions m_gradient;
};

} // namespace

std::vector<Value> followed_values(const Scene &scene, const SceneParameters &params,
                                   const Sensor *another) {
    std::vector<Value> out = scene.followed_shapes(another);
    for (Value &v : params.traced())
        if (ad::grad_enabled(v))
            out.push_back(std::move(v));
    return out;
}

Float render_image(const Ref<Scene> &scene, const SceneParameters *params,
                   const RenderOptions &primal, const RenderOptions &gradient,
                   std::array<size_t, 3> *shape, const BetweenLaunches &between) {
    VariantScope scope(scene->scene_variant());
    std::vector<Value> followed;
    if (params) {
        scene->follow_shapes(primal.from.get());
        followed = followed_values(*scene, *params, primal.from.get());
    }
    Float image;
    {
        ad::SuspendGrad none;
        image = render_primal(*scene, primal, shape, between, !followed.empty());
    }
    if (followed.empty())
        return image;
    auto op = std::make_shared<RenderImage>(scene, image, std::move(followed), gradient);
    return Float(ad::custom(op, {})[0]);
}

} // namespace umbel
