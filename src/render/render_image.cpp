// render/render_image.cpp: see render/render_image.h.
#include "render/render_image.h"

namespace umbel {

namespace {

class RenderImage final : public ad::CustomOp {
public:
    RenderImage(Ref<Scene> scene, std::vector<Value> followed, const RenderOptions &primal,
                const RenderOptions &gradient)
        : m_scene(std::move(scene)), m_followed(std::move(followed)), m_primal(primal),
          m_gradient(gradient) {}

    const char *name() const override { return "render"; }

    std::vector<Value> eval(std::span<const Value>) override {
        for (const Value &v : m_followed)
            add_input(v);
        m_followed.clear(); // the scene holds them
        Render render(*m_scene, m_primal);
        render.run();
        return { render.tensor() };
    }
    void backward() override { Render(*m_scene, m_gradient).backward(Float(grad_out(0))); }
    void forward() override { set_grad_out(0, Render(*m_scene, m_gradient).forward()); }

private:
    Ref<Scene> m_scene;
    std::vector<Value> m_followed;
    RenderOptions m_primal, m_gradient;
};

} // namespace

Float render_image(const Ref<Scene> &scene, const SceneParameters *params,
                   const RenderOptions &primal, const RenderOptions &gradient) {
    VariantScope scope(scene->scene_variant());
    std::vector<Value> followed;
    if (params)
        for (Value &v : params->traced())
            if (ad::grad_enabled(v))
                followed.push_back(std::move(v));
    if (followed.empty()) {
        ad::SuspendGrad none;
        Render render(*scene, primal);
        render.run();
        return render.tensor();
    }
    auto op = std::make_shared<RenderImage>(scene, std::move(followed), primal, gradient);
    return Float(ad::custom(op, {})[0]);
}

} // namespace umbel
