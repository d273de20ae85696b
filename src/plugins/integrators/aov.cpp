// aov: quantities of the first surface besides its radiance, as further channels of the image.
//
// `aovs` lists channels as name:kind, separated by commas. With integrators inside, their images come first: that of the first
// one is the colour, those of others are channels name.R, name.G and name.B (mono: name.Y), followed by channels of their own.
// Names are those that the scene gives to the integrators; without one, the second is image2, the third image3 and so on.
//
// duv_dx and duv_dy say how texture coordinates change from a pixel to the next one, over the square root of the number of
// samples a pixel: so far do neighbouring samples lie apart.
//
// boundary_test is a single channel that is called as it is in the list: 0 at silhouettes and edges, more away from them, and 1
// where nothing is seen. Triangles without normals end at each of their edges.
#include "render/boundary_test.h"
#include "render/followed_camera.h"
#include "render/further_colours.h"
#include "render/nesting_integrator.h"
#include <optional>

namespace umbel {

class Aov final : public NestingIntegrator {
public:
    void declare(Params &p) override {
        p.example(
            "<string name='aovs' value='d:depth,n:sh_normal,a:albedo'/><integrator type='path'/>");
        p.example(
            "<string name='aovs' value='p:position,u:uv,g:geo_normal,s:dp_du,t:dp_dv,x:duv_dx,"
            "y:duv_dy,i:prim_index,j:shape_index,b:boundary_test'/>");
        Integrator::declare(p);
        p.string("aovs", m_list, "")
            .doc("Such as dd:depth,nn:sh_normal; kinds: depth, position, uv, geo_normal, "
                 "sh_normal, dp_du, dp_dv, duv_dx, duv_dy, prim_index, shape_index, albedo, "
                 "boundary_test");
        declare_several(p,
                        "What computes the colour, black if absent; several give further images");
        if (p.loading() && !p.properties()->has("aovs"))
            complain("has no `aovs`, the list of its channels, such as \"dd:depth,nn:sh_normal\"");
    }

    void configure() override {
        m_names.clear();
        m_kinds.clear();
        m_asks.reset();
        std::string_view left = m_list;
        while (!left.empty()) {
            std::string item(left.substr(0, left.find(',')));
            left.remove_prefix(std::min(left.size(), item.size() + 1));
            item.erase(0, item.find_first_not_of(" \n\t"));
            size_t colon = item.find(':');
            if (colon == std::string::npos)
                complain("aovs: {} is not of the form name:kind", quote(item));
            std::string name = item.substr(0, colon), kind = item.substr(colon + 1);
            kind.erase(kind.find_last_not_of(" \n\t") + 1);
            if (kind == "boundary_test")
                m_names.push_back(name);
            else
                for (const char *c = suffixes_of(kind); *c; ++c)
                    m_names.push_back(fmt::format("{}.{}", name, *c));
            m_kinds.push_back(kind);
            if (kind.starts_with("duv_") && !m_asks)
                m_asks.emplace();
        }
    }
    std::vector<std::string> aov_names() const override {
        std::vector<std::string> names = NestingIntegrator::aov_names();
        names.insert(names.end(), m_names.begin(), m_names.end());
        return names;
    }
    bool has_colour() const override { return !m_inner.empty(); }
    const Integrator *ignores_camera() const override { // neighbours of rays are not followed
        return m_asks ? this : NestingIntegrator::ignores_camera();
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override {
        Hit hit = scene.trace(ray, active, true);
        SurfaceInteraction si = scene.interaction(ray, hit, active);
        si.compute_uv_partials(ray, active);
        Mask valid = active & si.is_valid();
        Radiance r = NestingIntegrator::sample(scene, sampler, ray, medium, active);
        if (m_inner.empty())
            r.valid = valid;
        for (const Float &v : channels(scene, ray, hit, si, valid))
            r.aovs.push_back(v);
        return r;
    }

    // The channels' own arithmetic, at a point that stays on its ray while surfaces and the camera move.
    RadianceDerivative differentiate(ad::Mode mode, const Scene &scene, SampleStream sampler,
                                     const Ray &ray, const Medium *medium, const Radiance &primal,
                                     const RadianceDerivative &gradient,
                                     const Mask &active) const override {
        RadianceDerivative out = gradient;
        size_t own = out.aovs.size() - std::min(out.aovs.size(), m_names.size());
        out.aovs.resize(own);
        out = NestingIntegrator::differentiate(mode, scene, sampler, ray, medium, primal, out,
                                               active);
        Hit hit = scene.trace(ray, active, true);
        Ray carried = FollowedCamera::carry(ray, active & hit.is_valid());
        SurfaceInteraction si = scene.interaction(carried, hit, active, Scene::Follow::Ray);
        si.compute_uv_partials(ray, active);
        std::vector<Float> by(gradient.aovs.begin() + long(own), gradient.aovs.end());
        std::vector<Float> seen = channels(scene, carried, hit, si, active & si.is_valid());
        for (const Float &v : differentiate_values(mode, seen, by))
            out.aovs.push_back(v);
        return out;
    }

private:
    std::vector<Float> channels(const Scene &scene, const Ray &ray, const Hit &hit,
                                const SurfaceInteraction &si, const Mask &valid) const {
        std::vector<Float> out;
        auto put = [&](const Float &v) { out.push_back(select(valid, v, Float(0))); };
        auto put2 = [&](const Vector2 &v) { // rays of scripts have no neighbours
            put(v.x.valid() ? v.x : Float(0)), put(v.y.valid() ? v.y : Float(0));
        };
        auto put3 = [&](const Vector3 &v) { put(v.x), put(v.y), put(v.z); };
        for (const std::string &k : m_kinds) {
            if (k == "depth")
                put(si.t);
            else if (k == "position")
                put3(si.p);
            else if (k == "uv")
                put(si.uv.x), put(si.uv.y);
            else if (k == "geo_normal")
                put3(si.n);
            else if (k == "sh_normal")
                put3(si.sh_frame.n);
            else if (k == "dp_du")
                put3(si.dp_du);
            else if (k == "dp_dv")
                put3(si.dp_dv);
            else if (k == "duv_dx")
                put2(si.duv_dx);
            else if (k == "duv_dy")
                put2(si.duv_dy);
            else if (k == "prim_index")
                put(Float(si.prim));
            else if (k == "shape_index")
                put(Float(si.shape));
            else if (k == "boundary_test")
                out.push_back(m_boundary.eval(ray, hit, si, valid));
            else
                put3(albedo(scene, si, valid));
        }
        return out;
    }

    const char *suffixes_of(const std::string &kind) const {
        if (kind == "depth")
            return "T";
        if (kind == "prim_index" || kind == "shape_index")
            return "I";
        if (kind == "uv" || kind == "duv_dx" || kind == "duv_dy")
            return "UV";
        if (kind == "albedo")
            return "RGB";
        for (const char *k : { "position", "geo_normal", "sh_normal", "dp_du", "dp_dv" })
            if (kind == k)
                return "XYZ";
        complain("aovs: unknown kind {}; see `umbel help integrator/aov`", quote(kind));
    }

    static Vector3 albedo(const Scene &scene, const SurfaceInteraction &si, const Mask &valid) {
        Spectrum a =
            scene.bsdfs().call("bsdf.albedo", si.bsdf, valid, Spectrum(0), [&](const BSDF &b) {
                return unpolarized(b.eval_diffuse_reflectance(si, valid));
            });
        std::vector<Float> c = further_colours(a, si.wavelengths);
        return c.size() == 3 ? Vector3(c[0], c[1], c[2]) : Vector3(c[0]);
    }

    std::string m_list;
    std::vector<std::string> m_kinds, m_names;
    std::optional<AsksForPartials> m_asks; // where a channel shows them
    BoundaryTest m_boundary;
};

UMBEL_PLUGIN(Integrator, Aov, "aov")
} // namespace umbel
