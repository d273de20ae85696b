// render/derivatives.cpp: images as data of a program, and derivatives of them.
#include "ad/ad.h"
#include "render/driver.h"
#include "render/drops_effects.h"
#include "render/expected_samples.h"
#include "render/followed_camera.h"
#include "render/further_colours.h"
#include "render/invalid_samples.h"
#include "render/replay.h"
#include "render/replayed_later.h"
#include <algorithm>

namespace umbel {

// Samples that are NaN or infinite have no part in derivatives: their paths are not walked a second time. Told as those of
// images are.
template <class Samples>
static void leave_out_invalid(Samples &s, const Radiance &primal, const Film::Crop &crop) {
    Mask valid(true);
    for (const Float &v : primal.L.c)
        valid = valid & (abs(v) < std::numeric_limits<double>::infinity());
    note_invalid_samples(s.tally, s.pixel.x + jit::opaque(uint32_t(crop.x)),
                         s.pixel.y + jit::opaque(uint32_t(crop.y)), s.number, s.traced & !valid);
    s.traced = s.traced & valid;
}

// Tangents of others may be, too.
static void leave_out_invalid(std::vector<Float> &tangents, const Mask &traced) {
    Mask invalid(false);
    for (Float &v : tangents) {
        Mask finite = abs(v) < std::numeric_limits<double>::infinity();
        invalid = invalid | !finite;
        v = select(finite, v, Float(0));
    }
    note_invalid_derivatives(traced & invalid);
}

// Without what it depends on.
static Radiance fixed(Radiance r) {
    for (auto *values : { &r.L.c, &r.aovs })
        for (Float &v : *values)
            v = Float(v.detached());
    return r;
}

static void refuse_camera(const Integrator &integrator) {
    const Integrator *ignores = FollowedCamera::is_any() ? integrator.ignores_camera() : nullptr;
    if (ignores)
        ignores->complain("has no derivatives by where the camera is; use `prb_projective`, or "
                          "`prb`, which leaves out what comes into sight");
}

std::array<size_t, 3> Render::tensor_shape() const {
    return { size_t(crop().height), size_t(crop().width), channel_names().size() };
}

Float Render::tensor() const {
    VariantScope scope(m_scene.scene_variant());
    uint32_t channels = uint32_t(channel_names().size());
    Float image = m_buffer.rows(channels, [&](const UInt32 &slot) {
        Float count = splats() ? m_buffer.number(slot, channels) : samples_of(slot);
        return select(count != 0, count, Float(1));
    });
    if (!integrator().splats())
        return image;
    Float paths = opaque_float(std::max(light_samples(), 1e-9));
    return image + m_light.rows(channels, [&](const UInt32 &) { return paths; });
}

Radiance Render::primal_of(const Samples &s) const {
    ad::SuspendGrad none;
    ReplayedLater later;
    SampleStream sampler = s.sampler; // the derivative starts from the same numbers
    return integrator().sample(m_scene, sampler, s.ray, sensor().medium(), s.traced);
}

// Each launch of a derivative is traced anew, which takes longer than it runs where the image is small: those of small images
// hold more samples of a pixel, up to as many in all as larger images have in a launch anyway.
void Render::widen_groups() {
    m_is_small = false;
    constexpr int64_t Lanes = 1 << 20;
    int64_t most = Lanes / int64_t(m_buffer.slots());
    bool is_divided =
        m_options.parts > 1 || m_options.launch_pixels || integrator().samples_per_pass() > 0;
    if (is_divided || most <= m_group_size || m_group != 0 || m_next != 0)
        return;
    int64_t groups = (m_spp + most - 1) / most;
    m_group_size = int((m_spp + groups - 1) / groups);
    m_last = int(groups);
}

void Render::must_go_on() const {
    if (!goes_on())
        integrator().complain("was told to stop: the derivative of the image is not complete, and "
                              "is given up");
}

// What a lane adds to the image is linear in its radiance: the film's own arithmetic, differentiated, gives the radiance's
// gradient.
void Render::backward(const Float &gradient) {
    VariantScope scope(m_scene.scene_variant());
    ExpectedSamples expected(whole_samples());
    auto [height, width, channels] = tensor_shape();
    if (gradient.size() != height * width * channels)
        fail("the gradient of an image of {} x {} pixels and {} channels has {} numbers", width,
             height, channels, gradient.size());
    DropsEffects when_it_fails;
    refuse_splats();
    if (int n = integrator().continuous_samples(spp()); n != spp() && !m_options.boundary_spp)
        return with_samples(n).backward(gradient);
    jit::eval(gradient); // else by the launch that reads it, with all that it has recorded by then
    ad::IsolateGrad isolate;
    ad::FiniteSums finite(note_invalid_derivatives);
    FollowedCamera camera(sensor());
    SeenBy seen(sensor());
    refuse_camera(integrator());
    widen_groups();
    if (!make_ready())
        must_go_on();
    for (bool is_first = true, more = is_continuous(); more && !done(); advance()) {
        Samples s = start(next_band(), place_of(next_band()));
        Radiance primal = primal_of(s);
        leave_out_invalid(s, primal, crop());
        Radiance leaf = fixed(primal);
        Spectrum &L = leaf.L;
        std::vector<Float> &aovs = leaf.aovs;
        for (auto *values : { &L.c, &aovs })
            for (Float &v : *values)
                ad::enable_grad(v);
        std::vector<Float> pixel = film_channels(leaf, s);
        Float scale = s.weight * opaque_float(1.0 / spp());
        UInt32 first = s.pixel.index * UInt32(uint32_t(channels));
        for (uint32_t c = 0; c < pixel.size(); ++c) {
            if (!ad::grad_enabled(pixel[c]))
                continue;
            Float g(jit::gather(gradient, first + UInt32(c), s.traced));
            ad::accumulate_grad(pixel[c], g * scale);
            ad::enqueue(ad::Mode::Backward, pixel[c]);
        }
        ad::traverse(ad::Mode::Backward);
        auto gradient_of = [](const Float &v) { return Float(ad::grad(v)); };
        RadianceDerivative by{ map(L, gradient_of), {} };
        for (const Float &v : aovs)
            by.aovs.push_back(gradient_of(v));
        integrator().differentiate(ad::Mode::Backward, m_scene, s.sampler, s.ray, sensor().medium(),
                                   primal, by, s.traced);
        if (!std::exchange(is_first, false))
            must_go_on(); // the launch before runs while this one is traced
        jit::eval();
    }
    integrator().boundary(boundary_pass(ad::Mode::Backward, gradient));
    jit::eval();
    finite.tell();
    jit::eval();
    report_invalid_samples(m_tally, m_options.seed, true, true);
}

BoundaryPass Render::boundary_pass(ad::Mode mode, const Float &gradient) const {
    constexpr uint32_t Other = 0x9e3779b9;
    return { mode,
             m_scene,
             sensor(),
             tensor_shape(),
             crop(),
             gradient,
             *m_sampler,
             (m_seed_value.valid() ? m_seed_value : UInt32(jit::opaque(m_seed))) ^ UInt32(Other),
             m_options.boundary_spp > 0 ? m_options.boundary_spp : spp(),
             [this] { must_go_on(); } };
}

Render Render::with_samples(int continuous) const {
    RenderOptions options = m_options;
    options.boundary_spp = spp();
    options.spp = std::max(continuous, 1);
    return Render(m_scene, options);
}

bool Render::is_continuous() const { return integrator().continuous_samples(spp()) > 0; }

void Render::refuse_splats() const {
    if (integrator().splats())
        integrator().complain("has no derivatives; use `path`");
    if (splats())
        fail("{}: images are differentiated with samples drawn from the filter; set `splat` to "
             "false",
             film().where());
}

Float Render::forward() {
    VariantScope scope(m_scene.scene_variant());
    ExpectedSamples expected(whole_samples());
    DropsEffects when_it_fails;
    refuse_splats();
    if (int n = integrator().continuous_samples(spp()); n != spp() && !m_options.boundary_spp)
        return with_samples(n).forward();
    ad::IsolateGrad isolate;
    FollowedCamera camera(sensor());
    SeenBy seen(sensor());
    refuse_camera(integrator());
    widen_groups();
    if (!make_ready())
        must_go_on();
    for (bool is_first = true, more = is_continuous(); more && !done(); advance()) {
        Samples s = start(next_band(), place_of(next_band()));
        Radiance primal = primal_of(s);
        leave_out_invalid(s, primal, crop());
        RadianceDerivative by =
            integrator().differentiate(ad::Mode::Forward, m_scene, s.sampler, s.ray,
                                       sensor().medium(), primal, { Spectrum(1), {} }, s.traced);
        if (!std::exchange(is_first, false))
            must_go_on();
        Radiance tangent{ by.L, Mask(false), by.aovs };
        tangent.aovs.resize(integrator().aov_names().size(), Float(0));
        for (auto *tangents : { &tangent.L.c, &tangent.aovs })
            leave_out_invalid(*tangents, s.traced);
        {
            ad::SuspendGrad none;
            collect(next_band(), results_of(tangent, s));
        }
        // By what the camera and the film respond to
        std::vector<Float> channels = film_channels(fixed(primal), s);
        if (std::none_of(channels.begin(), channels.end(), ad::grad_enabled))
            continue;
        channels = differentiate_values(ad::Mode::Forward, channels, {});
        for (Float &v : channels) {
            v = select(s.traced, v * s.weight, Float(0));
            if (m_group_size > 1)
                v = Float(jit::block_reduce(jit::ReduceOp::Add, v, uint32_t(m_group_size)));
        }
        collect(next_band(), channels);
    }
    Float boundary = integrator().boundary(boundary_pass(ad::Mode::Forward, {}));
    report_invalid_samples(m_tally, m_options.seed, true, true);
    return boundary.valid() ? tensor() + boundary : tensor();
}

} // namespace umbel
