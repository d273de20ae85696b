// python/render_scene.cpp: what scripts ask of a scene, and images of it.
#include "ad/ad.h"
#include "core/limits.h"
#include "python/freeze_inputs.h"
#include "python/helpers.h"
#include "python/render_plugins.h"
#include "python/render_records.h"
#include "python/waiting.h"
#include "render/hidden_lights.h"
#include "render/instance.h"
#include "render/invalid_samples.h"
#include "render/render_image.h"
#include <algorithm>
#include <functional>
#include <mutex>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

namespace {

template <class T> nb::list to_list(const std::vector<T> &objects) {
    nb::list out;
    for (const auto &o : objects)
        out.append(to_python(o));
    return out;
}

/// What lanes name 1, 2...
template <class T> nb::list table_list(const Table<T> &table) {
    nb::list out;
    for (const T *o : table.objects())
        out.append(to_python(static_cast<const SceneObject *>(o)));
    return out;
}

// A script may drop a scene before the rays that it has traced are computed. A value that they depend on keeps the scene;
// it may be given up on any thread, so the scene waits here for the next call.
struct Retired {
    std::mutex mutex;
    std::vector<Ref<Scene>> scenes;
};
Retired &retired() {
    static auto *r = new Retired;
    return *r;
}
void drop_retired() {
    std::vector<Ref<Scene>> scenes;
    std::lock_guard lock(retired().mutex);
    scenes.swap(retired().scenes);
}
/// `active`, such that what uses it keeps the scene.
Mask keeping(const Scene &scene, const Mask &active) {
    static uint32_t zero = 0;
    drop_retired();
    auto owner =
        std::static_pointer_cast<Scene>(const_cast<Scene &>(scene).SceneObject::shared_from_this());
    UInt32 kept(jit::borrow_from(jit::Type::U32, &zero, 1, [owner]() mutable {
        std::lock_guard lock(retired().mutex);
        retired().scenes.push_back(std::move(owner));
    }));
    return active & (kept == UInt32(0u));
}

// What films show: the last image of each, as it was rendered by a script.
struct Shown {
    std::weak_ptr<Film> film;
    Float image;
    std::vector<size_t> shape;
    std::vector<std::string> further; // channels beyond the film's own
    std::optional<uint32_t> tally;    // of invalid samples; none: not rendered
};
std::vector<Shown> &shown() {
    static std::vector<Shown> list;
    return list;
}
std::vector<std::string> last_channels(const Ref<Film> &film) {
    for (const Shown &s : shown())
        if (s.film.lock() == film)
            return s.further;
    return {};
}
void show(const Ref<Film> &film, const Float &image, std::vector<size_t> shape,
          std::vector<std::string> further, std::optional<uint32_t> tally = {}) {
    std::erase_if(shown(), [&](const Shown &s) {
        Ref<Film> other = s.film.lock();
        return !other || other == film;
    });
    shown().push_back(
        { film, Float(ad::detach(image)), std::move(shape), std::move(further), tally });
    forget_state(*film, "storage"); // of blocks that were put before
}
nb::object last_image(const Ref<Film> &film) {
    std::vector<size_t> shape;
    Value image = shown_image(film, &shape);
    return image.valid() ? steal(wrap_tensor(tensor_class(image.type()), image, shape))
                         : nb::none();
}

// (count, (sample, x, y)) of samples of the film's last image that were NaN or infinite.
nb::tuple invalid_samples_of(const Ref<Film> &film) {
    enter();
    auto last = std::ranges::find_if(
        shown(), [&](const Shown &s) { return s.film.lock() == film && s.tally; });
    InvalidSamples found;
    if (last != shown().end()) {
        Float image = last->image; // other threads may show others while this one waits
        uint32_t tally = *last->tally;
        jit::eval(image);
        wait_for(image.context());
        found = invalid_samples(tally);
    }
    if (!found.has_first())
        return nb::make_tuple(found.count, nb::none());
    auto [sample, y, x] = found.first;
    nb::object number = sample == InvalidSamples::Splat ? nb::none() : nb::cast(sample);
    return nb::make_tuple(found.count, nb::make_tuple(number, x, y));
}

struct Options {
    RenderOptions primal;
    Ref<Film> film;
    Ref<Integrator> integrator;
};
void set_seed(RenderOptions &o, nb::handle h) { // a number, or data of the program
    if (is_array(h.ptr()))
        o.seed_value = jit::opaque(UInt32(index_value(h)));
    else if (!nb::try_cast(h, o.seed))
        fail("seed={}: it is an integer from 0 to 2**32 - 1", nb::cast<std::string>(nb::repr(h)));
}
int samples(const char *name, nb::handle h) {
    int spp = -1;
    if (!nb::try_cast(h, spp) || spp < 0 || spp > MostSamplesAPixel)
        fail("{}={}: samples a pixel are a number from 1 to {}, or 0 for what the scene says", name,
             nb::cast<std::string>(nb::repr(h)), MostSamplesAPixel);
    return spp;
}
/// Raises what signals do, and ends threads at the end of the process.
void hear_signals() {
    try {
        leave_if_ending();
        if (PyErr_CheckSignals() != 0)
            throw PythonError();
    } catch (const PythonError &) { // no error may be set while destructors run
        throw nb::python_error();
    }
}
// Where a step or a derivative is between its kernels: other threads cannot cancel it while this one holds Python's lock.
std::function<bool()> waiting_inside(const Scene &scene) {
    return [&variant = scene.scene_variant()] {
        try {
            wait_inside(variant.context());
        } catch (const PythonError &) {
            throw nb::python_error();
        }
        hear_signals();
        return true;
    };
}

Options options_of(const Ref<Scene> &scene, nb::handle sensor, nb::handle integrator,
                   nb::handle seed, nb::handle spp) {
    Options o;
    auto wrong = [](const char *name, nb::handle h, const char *what) {
        fail("{}={}: it is {}", name, nb::cast<std::string>(nb::repr(h)).substr(0, 100), what);
    };
    Ref<Sensor> from;
    Ref<Integrator> by;
    if (nb::isinstance<nb::int_>(sensor) ? !nb::try_cast(sensor, o.primal.sensor)
                                         : !nb::try_cast(sensor, from) || !from)
        wrong("sensor", sensor, "a sensor, or the number of one of the scene's");
    if (!integrator.is_none() && !nb::try_cast(integrator, by))
        wrong("integrator", integrator, "an integrator, or None for the scene's");
    o.primal.from = from;
    o.primal.integrator = by;
    o.primal.spp = samples("spp", spp);
    if (!o.primal.from && size_t(o.primal.sensor) >= scene->sensors().size())
        fail("the scene has {} sensors; there is no number {}", scene->sensors().size(),
             o.primal.sensor);
    set_seed(o.primal, seed);
    o.primal.go_on = waiting_inside(*scene);
    o.film =
        (o.primal.from ? *o.primal.from : *scene->sensors()[size_t(o.primal.sensor)]).film_ref();
    o.integrator = std::const_pointer_cast<Integrator>(o.primal.integrator ? o.primal.integrator
                                                                           : scene->integrator());
    return o;
}

// A method whose render() is Python's own; films that collect in Python.
bool is_python_render(const Options &o) {
    if (PyObject *p = python_side(*o.integrator);
        p && overridden(p, nb::type<Integrator>(), "render").is_valid())
        return true;
    PyObject *film = python_side(*o.film);
    return film && nb::cast<uint32_t>(nb::handle(film).attr("m_flags")) & 4; // FilmFlags.Special
}

/// Tangents on to the scene's values, or gradients from them on to what they were computed from.
void pass_derivatives(const Ref<Scene> &scene, const Sensor *another, bool is_forward) {
    enter();
    if (is_forward)
        scene->follow_shapes(another);
    std::vector<Value> inputs = followed_values(*scene, SceneParameters(scene), another);
    for (const Value &v : inputs)
        ad::enqueue(ad::Mode::Backward, v); // what they depend on
    if (!inputs.empty())
        ad::traverse(is_forward ? ad::Mode::Forward : ad::Mode::Backward);
}

nb::object render_forward(const Ref<Scene> &scene, nb::object sensor, nb::object integrator,
                          nb::object seed, nb::object spp) {
    enter();
    Options o = options_of(scene, sensor, integrator, seed, spp);
    pass_derivatives(scene, o.primal.from.get(), true);
    Render render(*scene, o.primal);
    std::array<size_t, 3> shape = render.tensor_shape();
    Float image = render.forward();
    return steal(wrap_tensor(tensor_class(image.type()), image, { shape.begin(), shape.end() }));
}

void render_backward(const Ref<Scene> &scene, const Float &gradient, nb::object sensor,
                     nb::object integrator, nb::object seed, nb::object spp) {
    enter();
    Options o = options_of(scene, sensor, integrator, seed, spp);
    scene->follow_shapes(o.primal.from.get());
    Render(*scene, o.primal).backward(gradient);
    pass_derivatives(scene, o.primal.from.get(), false);
}

nb::object render(const Ref<Scene> &scene, uintptr_t params, nb::object sensor,
                  nb::object integrator, nb::object seed, nb::object seed_grad, nb::object spp,
                  nb::object spp_grad, bool skip_invalid) {
    enter();
    Options o = options_of(scene, sensor, integrator, seed, spp);
    if (is_python_render(o))
        return nb::none();
    RenderOptions primal = o.primal, gradient = primal;
    primal.skip_invalid = skip_invalid;
    primal.tally = number_for_invalid_samples();
    primal.launch_seconds = 0.1;    // between launches, signals and other threads are heard
    gradient.seed_value = UInt32(); // the gradient's own
    set_seed(gradient, seed_grad);
    if (int own = samples("spp_grad", spp_grad))
        gradient.spp = own;
    nb::object preparing = from_package("_integrators.Progress")("preparing");
    nb::object progress = from_package("_integrators.Progress")("rendering");
    primal.progress = [&](double done) {
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
        preparing(done);
        return true;
    };
    auto between = [&](Render &r) {
        // A launch may be long: what a signal raises does not wait for its end
        wait_between(scene->scene_variant().context());
        r.wait(); // sizes the next one
        hear_signals();
        progress(r.progress(), nb::cpp_function([&r] { return r.image(); }));
    };
    std::array<size_t, 3> shape;
    Float image;
    try {
        image = render_image(scene, reinterpret_cast<const SceneParameters *>(params), primal,
                             gradient, &shape, between);
    } catch (const nb::python_error &) {
        progress.attr("stop")();
        throw;
    } catch (const PythonError &) {
        nb::python_error e; // progress is Python, too: it must not run with an error set
        progress.attr("stop")();
        throw e;
    }
    VariantScope scope(
        scene->scene_variant()); // scripts may have chosen another one since they loaded it
    std::vector<size_t> dims(shape.begin(), shape.end());
    show(o.film, image, dims, o.integrator->aov_names(), primal.tally);
    image = o.film->develop(image, uint32_t(dims[2]));
    dims[2] = image.size() / (dims[0] * dims[1]);
    return steal(wrap_tensor(tensor_class(image.type()), image, dims));
}

} // namespace

Value shown_image(const Ref<Film> &film, std::vector<size_t> *shape) {
    for (const Shown &s : shown())
        if (s.film.lock() == film) {
            if (shape)
                *shape = s.shape;
            return s.image;
        }
    return {};
}

void show_image(const Ref<Film> &film, const Value &image, std::vector<size_t> shape) {
    show(film, Float(image), std::move(shape), last_channels(film));
}

void bind_scene(nb::module_ &m) {
    nb::handle c = nb::type<Scene>();
    auto def = [&](const char *name, auto f, auto... extra) {
        nb::cpp_function_def<>(f, nb::scope(c), nb::name(name), nb::is_method(), extra...);
    };
    def("sensors", [](const Scene &s) { return to_list(s.sensors()); });
    def("shapes", [](const Scene &s) { // groups are seen as instances only
        std::vector<Ref<Shape>> seen;
        for (const Ref<Shape> &shape : s.shapes())
            if (!dynamic_cast<const ShapeGroup *>(shape.get()))
                seen.push_back(shape);
        return to_list(seen);
    });
    def("integrator", [](const Scene &s) { return to_python(s.integrator()); });
    auto emitters = [](const Scene &s) { return table_list(s.emitters()); };
    def("emitters", emitters, "All lights, in the order of the scene's description.");
    def("_emitter_list", emitters);
    def("_bsdf_list", [](const Scene &s) { return table_list(s.bsdfs()); });
    def("_shape_list", [](const Scene &s) {
        nb::list out;
        for (const Shape *shape : s.surfaces())
            out.append(to_python(static_cast<const SceneObject *>(shape)));
        return out;
    });
    def("_bounds", [](const Scene &s) {
        const BoundingBox &b = s.bounds();
        return nb::make_tuple(b.min[0], b.min[1], b.min[2], b.max[0], b.max[1], b.max[2]);
    });
    def("_ray_intersect", [](const Scene &s, const Ray &ray, const Mask &active, bool coherent) {
        return s.ray_intersect(ray, keeping(s, active), Mask(coherent));
    });
    def("_trace", [](const Scene &s, const Ray &ray, const Mask &active, bool coherent) {
        return s.trace(ray, keeping(s, active), Mask(coherent));
    });
    def("_interaction",
        [](const Scene &s, const Ray &ray, const Hit &hit, const Mask &active, int follow) {
            SurfaceInteraction si = s.interaction(ray, hit, active, Scene::Follow(follow));
            // Nothing else is known of lanes that met nothing
            Mask valid = si.is_valid();
            Vector3 none(Float(0));
            for (Vector3 *v : { &si.p, &si.n, &si.dp_du, &si.dp_dv, &si.sh_frame.s, &si.sh_frame.t,
                                &si.sh_frame.n })
                *v = select(valid, *v, none);
            si.uv = select(valid, si.uv, Vector2{ Float(0), Float(0) });
            si.prim = select(valid, si.prim, UInt32(0u)); // what is looked up exists
            return si;
        });
    def("_normal_partials", [](const Scene &s, const Ray &ray, const Hit &hit,
                               const SurfaceInteraction &si, bool shading, const Mask &active) {
        return s.normal_partials(ray, hit, si, shading, active);
    });
    def("_place", [](const Scene &s, const Hit &hit) {
        Scene::HitPlace p = s.place_of(hit, Mask(true));
        UInt32 prim = select(hit.is_valid(), p.prim, UInt32(0u));
        return std::tuple(prim, p.shape_number, p.instance, p.shape_index, as_point(p.uv));
    });
    def("_update", [](Scene &s) { s.child_changed(); });
    def("_surface_table", [](const Scene &s) { // global number, BSDF, its flags, light
        nb::list out;
        auto find = [](const auto &objects, const void *p) {
            for (uint32_t i = 0; i < objects.size(); ++i)
                if (objects[i] == p)
                    return i + 1;
            return 0u;
        };
        for (const Shape *shape : s.surfaces())
            out.append(nb::make_tuple(
                shape->global_number(), find(s.bsdfs().objects(), shape->bsdf().get()),
                shape->bsdf()->flags(), find(s.emitters().objects(), shape->emitter().get())));
        return out;
    });
    def("_surface_numbers", [](const Scene &s) {
        std::vector<uint32_t> out;
        for (const Ref<Shape> &shape : s.shapes())
            out.push_back(shape->global_number());
        return out;
    });
    def("_past_lights", [](const Scene &s, const Ray &ray, const Mask &active) {
        return past_lights(s, ray, active);
    });
    def("_ray_test", [](const Scene &s, const Ray &ray, const Mask &active) {
        return s.ray_test(ray, keeping(s, active));
    });
    def("_sample_emitter_direction",
        [](const Scene &s, const Interaction &it, const Vector2 &u, bool test, const Mask &active) {
            return s.sample_emitter_direction(it, u, test, active);
        });
    def("_pdf_emitter_direction",
        [](const Scene &s, const Interaction &it, const DirectionSample &ds, const Mask &active) {
            return s.pdf_emitter_direction(it, ds, active);
        });
    def(
        "sample_emitter",
        [](const Scene &s, const Float &u, const Mask &active) {
            LightSampler::Choice c = s.sample_emitter(u, active);
            return std::tuple(c.emitter - 1u, c.inverse_pmf(), c.rest);
        },
        nb::arg("sample"), nb::arg("active") = true,
        "Chooses lights: their places in emitters(), one over their probabilities, and the sample "
        "to be used again.");
    def(
        "pdf_emitter",
        [](const Scene &s, const UInt32 &index, const Mask &active) {
            return s.pdf_emitter(index + 1u, active);
        },
        nb::arg("index"), nb::arg("active") = true,
        "The probability with which sample_emitter() chooses a light.");
    def("_sample_emitter_ray", [](const Scene &s, const Float &time, const Float &u1,
                                  const Vector2 &u2, const Vector2 &u3, const Mask &active) {
        LightSampler::Choice c = s.sample_emitter(u1, active);
        auto [ray, weight] = s.sample_emitter_ray(c, time, c.rest, u2, u3, active);
        return std::tuple(ray, weight, c.emitter);
    });
    def("eval_emitter_direction", &Scene::eval_emitter_direction, nb::arg("ref"), nb::arg("ds"),
        nb::arg("active") = true, "The light that arrives at `ref` along ds.d from ds.emitter.");
    def("_direction_to", [](const Scene &s, const Interaction &it, const SurfaceInteraction &si) {
        return s.direction_to(it, si);
    });
    def("_emitter_of",
        [](const Scene &s, const SurfaceInteraction &si) { return s.emitter_of(si); });
    def("_eval_emitter",
        [](const Scene &s, const SurfaceInteraction &si, const UInt32 &number, const Mask &active) {
            Mask known = active & (number != UInt32(0u));
            return s.emitters().call("emitter.eval", number, known, black(),
                                     [&](const Emitter &e) { return e.eval(si, known); });
        });
    def("_bsdf_eval_pdf", [](const Scene &s, const UInt32 &number, const BSDFContext &ctx,
                             const SurfaceInteraction &si, const Vector3 &wo, const Mask &active) {
        return s.bsdfs().call("bsdf.eval_pdf", number, active, std::pair(black(), Float(0)),
                              [&](const BSDF &b) { return b.eval_pdf(ctx, si, wo, active); });
    });
    def("_bsdf_sample",
        [](const Scene &s, const UInt32 &number, const BSDFContext &ctx,
           const SurfaceInteraction &si, const Float &u1, const Vector2 &u2, const Mask &active) {
            BSDFSample none = BSDFSample::none();
            none.weight = black();
            BSDFSample r = s.bsdfs().call("bsdf.sample", number, active, none, [&](const BSDF &b) {
                return b.sample(ctx, si, u1, u2, active);
            });
            return std::pair(r, r.weight);
        });
    def("_bsdf_reflectance", [](const Scene &s, const UInt32 &number, const SurfaceInteraction &si,
                                const Mask &active) {
        return s.bsdfs().call("bsdf.reflectance", number, active, Spectrum(0), [&](const BSDF &b) {
            return b.eval_diffuse_reflectance(si, active);
        });
    });
    m.def("spawn_ray", [](const Interaction &it, const Vector3 &d) { return it.spawn_ray(d); });
    m.def("spawn_ray_to",
          [](const Interaction &it, const Vector3 &p) { return it.spawn_ray_to(p); });
    m.def("to_world_mueller", [](const SurfaceInteraction &si, const Spectrum &s, const Vector3 &a,
                                 const Vector3 &b) { return si.to_world_mueller(s, a, b); });
    m.def("mis_weight", mis_weight);
    m.def("last_image", &last_image);
    m.def("invalid_samples", &invalid_samples_of);
    m.def("last_channels", &last_channels);
    m.def("forget_images", [] { // before Python ends
        shown().clear();
        drop_retired();
    });
    m.def("render", &render, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), "None where the image is made in Python.");
    m.def("render_forward", &render_forward);
    m.def("render_backward", &render_backward);
}

} // namespace umbel::python
