// tests/ad/path_replay_test.cpp: an integrator's adjoint in small, as the renderer's are written.
//
// A path visits vertices; each adds what a table emits there, dimmed by the materials met so far. The
// adjoint replays the path and takes the derivative of each vertex by itself, inside the recorded loop:
//     L = sum_i beta_i e_i, beta_{i+1} = beta_i f_i, so dL = sum_i beta_i de_i + (L_{>i} / f_i) df_i
// Nothing of the path is stored. What the derivatives read (a table that is itself computed, members of
// polymorphic instances, their textures) gets its gradient on the way.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class PathReplay : public AdTest {
protected:
    PathReplay() { context.set(Flag::Verify, true); }
};

struct Texture : Instance<Texture> {
    virtual ~Texture() = default;
    virtual Float64 eval(const UInt32 &at) const = 0;
};
struct Uniform : Texture {
    Float64 value;
    explicit Uniform(const Float64 &v) : value(v) {}
    Float64 eval(const UInt32 &) const override { return value; }
};
struct Grid : Texture {
    Float64 texels;
    explicit Grid(const Float64 &t) : texels(t) {}
    Float64 eval(const UInt32 &at) const override {
        Float64 a = gather(texels, at % texels.size());
        auto p = gather_packet<double, 2>(texels, at % 2u);
        return a * 0.5 + p[0] * p[1] * 0.25;
    }
};

struct Material : Instance<Material> {
    virtual ~Material() = default;
    virtual Float64 eval(const Float64 &cosine, const UInt32 &at) const = 0;
};
struct Dull : Material {
    Float64 albedo;
    explicit Dull(const Float64 &a) : albedo(a) {}
    Float64 eval(const Float64 &cosine, const UInt32 &) const override { return albedo * cosine; }
};
struct Shiny : Material { // reads its texture through another call, and has a conditional
    Float64 rough;
    Texture *first, *second;
    Shiny(const Float64 &r, Texture *a, Texture *b) : rough(r), first(a), second(b) {}
    Float64 eval(const Float64 &cosine, const UInt32 &at) const override {
        Pointer<Texture> which(select(at % 3u == 0u, UInt32(first->id()), UInt32(second->id())));
        Float64 colour = call(which, [](Texture *t, const UInt32 &at) { return t->eval(at); }, at);
        Float64 lobe = if_(
            cosine > 0.5, [&] { return exp(-(rough * rough)) * cosine; },
            [&] { return rough * cosine * 0.5 + gather(colour_table, at % 4u) * 0.1; });
        return colour * lobe + detach(colour) * 0.0;
    }
    Float64 colour_table;
};

struct Scene {
    Float64 emission;
    std::vector<std::shared_ptr<Material>> materials;
    std::vector<std::shared_ptr<Texture>> textures;
    std::vector<Float64> parameters; // all that derivatives are taken with respect to
    UInt32 ids;                      // of the materials
    uint32_t lanes = 0;

    // in: emission (6), texels (4), two albedos, a roughness
    static std::shared_ptr<Scene> make(const umbel::test::Inputs &in, uint32_t lanes) {
        auto s = std::make_shared<Scene>();
        s->lanes = lanes;
        s->emission = in[0] * in[0] + 0.1; // computed: the step back to in[0] lies outside
        Float64 texels = sqrt(in[1]), albedo = in[2] * 0.9;
        eval(s->emission, texels, albedo);
        s->textures = { std::make_shared<Grid>(texels), std::make_shared<Uniform>(in[3]),
                        std::make_shared<Grid>(in[1]) };
        auto shiny = std::make_shared<Shiny>(in[4], s->textures[0].get(), s->textures[1].get());
        auto other = std::make_shared<Shiny>(in[3], s->textures[2].get(), s->textures[0].get());
        shiny->colour_table = in[1];
        other->colour_table = texels;
        s->materials = { std::make_shared<Dull>(albedo), shiny, std::make_shared<Dull>(in[3]),
                         other };
        std::vector<uint32_t> ids;
        for (auto &m : s->materials)
            ids.push_back(m->id());
        s->ids = copy(ids);
        s->parameters = { s->emission, texels, in[1], albedo, in[3], in[4] };
        return s;
    }

    struct Path {
        UInt32 i;
        Float64 beta, radiance, tangent;
        UMBEL_STRUCT(i, beta, radiance, tangent)
    };
    UInt32 lane() const { return arange<uint32_t>(lanes); }
    UInt32 length() const { return lane() % 5u; } // some paths are empty
    // At a vertex
    Float64 emitted(const Path &p) const { return gather(emission, (lane() * 3u + p.i) % 6u); }
    Float64 reflected(const Path &p) const {
        UInt32 at = lane() * 5u + p.i;
        Pointer<Material> which(gather(ids, (lane() + p.i) % 4u));
        Float64 cosine = Float64((lane() * 7u + p.i * 3u) % 10u) * 0.08 + 0.2;
        return call(
            which, [](Material *m, const Float64 &c, const UInt32 &at) { return m->eval(c, at); },
            cosine, at);
    }
    template <class Fn> Path trace(Path start, Fn &&vertex) const {
        return loop(
            std::move(start), [&](const Path &p) { return p.i < length(); },
            [&](Path &p) {
                vertex(p);
                p.i += 1u;
            });
    }
};

struct Integrator : CustomOp {
    std::shared_ptr<Scene> scene;
    Float64 result;
    explicit Integrator(std::shared_ptr<Scene> s) : scene(std::move(s)) {}
    const char *name() const override { return "integrator"; }

    std::vector<Value> eval(std::span<const Value>) override {
        for (const Float64 &p : scene->parameters)
            add_input(p);
        auto p = scene->trace({ 0u, 1.0, 0.0, 0.0 }, [&](Scene::Path &p) {
            p.radiance += p.beta * scene->emitted(p);
            p.beta *= scene->reflected(p);
        });
        result = p.radiance;
        return { result };
    }

    // The part of the result that this vertex is responsible for, with its derivatives.
    Float64 contribution(Scene::Path &p) const {
        ResumeGrad all;
        Float64 e = scene->emitted(p), f = scene->reflected(p);
        p.radiance -= p.beta * detach(e); // what comes after
        Float64 lo = p.beta * e + p.radiance / detach(f) * f;
        p.beta *= detach(f);
        return lo;
    }

    void backward() override {
        Float64 gradient(grad_out(0));
        IsolateGrad isolate;
        SuspendGrad none;
        scene->trace({ 0u, 1.0, result, 0.0 }, [&](Scene::Path &p) {
            Float64 lo = contribution(p);
            ResumeGrad all;
            set_grad(lo, gradient);
            backward_from(lo);
        });
    }

    void forward() override {
        Float64 tangent;
        {
            IsolateGrad isolate;
            SuspendGrad none;
            tangent = scene
                          ->trace({ 0u, 1.0, result, 0.0 },
                                  [&](Scene::Path &p) {
                                      Float64 lo = contribution(p);
                                      ResumeGrad all;
                                      p.tangent += Float64(forward_to(lo));
                                  })
                          .tangent;
        }
        set_grad_out(0, tangent);
    }
};

const std::vector<List> points{
    random_points(1, 6, 0.5, 1.5), random_points(2, 4, 0.5, 1.5), { 0.7 }, { 0.6 }, { 0.8 }
};

TEST_P(PathReplay, AgreesWithDifferences) {
    expect_gradient(
        "path replay",
        [](const Inputs &in) {
            auto op = std::make_shared<Integrator>(Scene::make(in, 37));
            return Float64(custom(op, {})[0]);
        },
        points);
}

TEST_P(PathReplay, IsPartOfALargerComputation) {
    expect_gradient(
        "path replay in a loss",
        [](const Inputs &in) {
            auto op = std::make_shared<Integrator>(Scene::make(in, 37));
            Float64 image = block_sum(Float64(custom(op, {})[0]), 37);
            return sum(image * image) * in[2] + sum(in[0]) * in[4] + sum(in[1] * in[1]);
        },
        points);
}

// Two adjoints meet in the same parameters, in one traversal.
TEST_P(PathReplay, TwoIntegratorsShareTheirParameters) {
    expect_gradient(
        "two",
        [](const Inputs &in) {
            auto scene = Scene::make(in, 16);
            Float64 a(custom(std::make_shared<Integrator>(scene), {})[0]);
            Float64 b(custom(std::make_shared<Integrator>(scene), {})[0]);
            return a * b + a;
        },
        points);
}

TEST_P(PathReplay, IsOneKernelAndStoresNoPath) {
    Inputs in = enabled(points);
    auto scene = Scene::make(in, 4096);
    Float64 y(custom(std::make_shared<Integrator>(scene), {})[0]);
    eval(y);
    context.set(Flag::History, true);
    backward(y);
    std::vector<Float64> gradients;
    for (Float64 &x : in)
        gradients.push_back(grad(x));
    for (Float64 &g : gradients)
        eval(g);
    synchronize();
    int loops = 0;
    for (const KernelRecord &k : context.take_history())
        loops += k.backend != "builtin" && k.size == 4096;
    context.set(Flag::History, false);
    EXPECT_EQ(loops, 1);
}

// A value of the body itself may be followed: a normal, say, as the gradient of a distance.
TEST_P(PathReplay, TheBodyMayDifferentiateValuesOfItsOwn) {
    UInt32 lane = arange<uint32_t>(3);
    Float64 scale = opaque(2.0), slopes;
    enable_grad(scale);
    {
        IsolateGrad isolate;
        SuspendGrad none;
        auto [i, sum] = loop(
            std::tuple<UInt32, Float64>(0u, 0.0), [](const auto &s) { return std::get<0>(s) < 3u; },
            [&](auto &s) {
                auto &[i, sum] = s;
                ResumeGrad all;
                Float64 x = Float64(lane + i);
                enable_grad(x);
                Float64 f = x * x * scale;
                backward(f);
                sum += grad(x);
                i += 1u;
            });
        slopes = sum;
    }
    EXPECT_EQ(slopes.read(), (List{ 12, 24, 36 })); // sum of 2 * 2 (lane + i)
    EXPECT_EQ(item(grad(scale)), 0 + 1 + 4 + 1 + 4 + 9 + 4 + 9 + 16);
}

struct Fetch : CustomOp { // a table's element, with derivatives by hand
    Float64 table;
    UInt32 at;
    size_t number = 0;
    Fetch(const Float64 &t, const UInt32 &at) : table(t), at(at) {}
    const char *name() const override { return "fetch"; }
    std::vector<Value> eval(std::span<const Value>) override {
        number = add_input(table);
        return { gather(table, at) };
    }
    void forward() override { set_grad_out(0, gather(Float64(grad_in(number)), at)); }
    void backward() override {
        Float64 g(grad_out(0));
        accumulate_elements(table, g);
    }
    void accumulate_elements(Float64 &t, const Float64 &g) {
        Float64 lanes = gather(t, at); // by the library's own means
        set_grad(lanes, g);
        backward_from(lanes);
    }
};

TEST_P(PathReplay, CustomOperationsWorkInsideTheLoop) {
    Float64 table = copy(List{ 1, 2, 3, 4 });
    enable_grad(table);
    UInt32 lane = arange<uint32_t>(4);
    auto fetch = [&](const UInt32 &at) {
        return Float64(custom(std::make_shared<Fetch>(table, at), {})[0]);
    };
    {
        IsolateGrad isolate;
        SuspendGrad none;
        loop(
            std::tuple<UInt32>(0u), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                ResumeGrad all;
                Float64 f = fetch((lane + std::get<0>(s)) % 4u);
                f = f * f;
                backward(f);
                std::get<0>(s) += 1u;
            });
    }
    EXPECT_EQ(grad(table).read(), (List{ 4, 8, 12, 16 }));
    clear_grad(table);
    set_grad(table, copy(List{ 1, 10, 100, 1000 }));
    Float64 tangent;
    {
        IsolateGrad isolate;
        SuspendGrad none;
        auto [i, sum] = loop(
            std::tuple<UInt32, Float64>(0u, 0.0), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                ResumeGrad all;
                Float64 f = fetch((lane + std::get<0>(s)) % 4u);
                std::get<1>(s) += Float64(forward_to(f));
                std::get<0>(s) += 1u;
            });
        tangent = sum;
    }
    EXPECT_EQ(tangent.read(), (List{ 11, 110, 1100, 1001 }));
}

UMBEL_BACKENDS(PathReplay)

} // namespace
