// dipole: light that is scattered many times below a surface, and leaves it nearby, by diffusion in a half-space [Jensen 2001].
//
//     leaving light per area at x = sum over points y of R(|x - y|) E(y) area(y)
//     R(r) = albedo' / (4 pi) (zr (1 + str dr) exp(-str dr) / dr^3 + zv (1 + str dv) exp(-str dv) / dv^3)
//
// with a source below the surface (zr = 1 / st', dr^2 = r^2 + zr^2), another one above it (zv = zr (1 + 4 A / 3)), st' = sa + ss',
// albedo' = ss' / st' and str = sqrt(3 sa st'). Coefficients are reduced ones: those of scattering without a preferred direction.
//
// E, the light of emitters that enters the surface, is found beforehand in points that are about as far apart as light gets
// without a collision [Bowers 2010], and summed up by a tree of them (render/irradiance_tree.h). Light that other surfaces reflect
// is left out, and so is what is scattered but once. The surface's BSDF should reflect like glass and nothing else: `plastic` or
// `roughplastic` without a diffuse part.
#include "core/fresnel.h"
#include "core/host_array.h"
#include "core/quadrature.h"
#include "core/random.h"
#include "core/spectra.h"
#include "render/irradiance_tree.h"
#include "render/scattering_coefficients.h"
#include "render/scene.h"
#include "render/subsurface.h"
#include <cmath>
#include <map>
#include <unordered_map>

namespace umbel {

class Dipole final : public Subsurface {
public:
    void declare(Params &p) override {
        p.example("<string name='material' value='skin1'/><float name='scale' value='10'/>");
        p.example("<rgb name='sigma_s' value='8,6,4'/><rgb name='sigma_a' value='.1,.3,.5'/><float "
                  "name='int_ior' value='1'/><integer name='irr_samples' value='4'/>");
        m_coefficients.declare(p);
        p.number("scale", m_scale, 1, 0).doc("Multiplies the coefficients: changes their unit");
        m_coefficients.declare_eta(p, m_eta);
        p.integer("irr_samples", m_irradiance_samples, 16, 1)
            .doc("Samples of lights in each point of the surface");
        p.number("quality", m_quality, 0.05, 1e-6)
            .doc("Points are summed up together where they are seen under less than this solid "
                 "angle");
    }
    void configure() override {
        if (!(m_scale > 0))
            complain("scale is {}; it must be positive", m_scale);
        double outside = diffuse_reflection(m_eta);
        m_exit = opaque_float(1 / (1 - outside));
        // From inside, what is reflected at all angles
        double inside = 1 - (1 - outside) / (m_eta * m_eta);
        m_A = opaque_float((1 + inside) / (1 - inside));
        m_index = opaque_float(m_eta);
        m_unit = opaque_float(m_scale);
        m_open = opaque_float(m_quality);
    }

    // Where points are, depends on the coefficients, too.
    void changed(std::span<const std::string>) override { prepare_again(); }
    void child_changed() override { prepare_again(); }

    void prepare(const Scene &scene, const Shape &shape) override {
        std::shared_ptr<const Object> owner = scene.weak_from_this().lock();
        if (owner != m_scene.lock())
            m_points.clear();
        m_scene = owner;
        m_points[&shape] = collect(scene, shape);
        std::vector<IrradianceTree::Point> all;
        for (auto &[s, points] : m_points)
            all.insert(all.end(), points.begin(), points.end());
        m_tree = IrradianceTree(std::move(all));
    }

    Spectrum eval(const Scene &, const SurfaceInteraction &si, SampleStream &,
                  const Mask &active) const override {
        if (m_tree.empty())
            return black();
        auto [sigma_t, albedo] = m_coefficients.eval(si, active);
        Profile profile = profile_of(sigma_t * m_unit, albedo);
        std::vector<Bin> bins = bins_of(si.wavelengths);
        Mask front = active & (si.wi.z > 0);
        Spectrum sum =
            m_tree.sum(si.p, m_open, Spectrum(0), front,
                       [&](Spectrum &s, const Float &d2, const Mask &is_used, auto &&number) {
                           for (size_t c = 0; c < s.c.size(); ++c) {
                               Float e = number(bins[c].first, is_used);
                               if (variant().colour == Colour::Spectral) {
                                   Float other = number(bins[c].first + UInt32(1u), is_used);
                                   e = fma(other - e, bins[c].between, e);
                               }
                               s.c[c] += select(is_used, e * profile.at(c, d2), Float(0));
                           }
                       });
        Float leaves = (1 - fresnel(si.wi.z, m_index).r) * m_exit * InvPi;
        return depolarize(select(front, sum * leaves, Spectrum(0)));
    }

private:
    void prepare_again() {
        configure();
        std::shared_ptr<const Object> scene = m_scene.lock();
        std::vector<const Shape *> shapes;
        for (auto &[shape, points] : m_points)
            shapes.push_back(shape);
        for (const Shape *shape : shapes)
            if (scene)
                prepare(dynamic_cast<const Scene &>(*scene), *shape);
    }

    // ---- diffusion

    struct Profile {
        std::vector<Float> zr2, zv2, zr, zv, transport, strength;
        Float at(size_t c, const Float &d2) const {
            auto source = [&](const Float &z, const Float &z2) {
                Float inv = rsqrt(d2 + z2), d = (d2 + z2) * inv, x = transport[c] * d;
                return z * (1 + x) * exp(-x) * inv * sqr(inv);
            };
            return strength[c] * (source(zr[c], zr2[c]) + source(zv[c], zv2[c]));
        }
    };
    Profile profile_of(const Spectrum &sigma_t, const Spectrum &albedo) const {
        Profile p;
        for (size_t c = 0; c < sigma_t.c.size(); ++c) {
            Float s = max(sigma_t[c], 1e-20), a = clamp(albedo[c], 0, 1);
            Float zr = rcp(s), zv = zr * (1 + m_A * (4.0 / 3));
            p.zr.push_back(zr), p.zr2.push_back(sqr(zr));
            p.zv.push_back(zv), p.zv2.push_back(sqr(zv));
            p.transport.push_back(sqrt(3 * (1 - a)) * s);
            p.strength.push_back(a * (0.25 * InvPi));
        }
        return p;
    }
    // The part of light from all sides that is reflected, from outside.
    static double diffuse_reflection(double eta) {
        if (eta == 1)
            return 0;
        Quadrature rule = gauss_legendre(128);
        double sum = 0;
        for (size_t i = 0; i < rule.nodes.size(); ++i) {
            double c = 0.5 * (1 + rule.nodes[i]), t2 = 1 - (1 - c * c) / (eta * eta);
            double r = 1;
            if (t2 > 0) {
                double t = std::sqrt(t2), s = (c - eta * t) / (c + eta * t),
                       q = (t - eta * c) / (t + eta * c);
                r = 0.5 * (s * s + q * q);
            }
            sum += rule.weights[i] * c * r; // 2 c dc, over half the length
        }
        return sum;
    }

    // ---- light on the surface

    // Points that are at least a mean free path apart, but enough of them.
    std::vector<IrradianceTree::Point> collect(const Scene &scene, const Shape &shape) const {
        double area = shape.area(), sigma = m_coefficients.max_sigma_t() * m_scale;
        double radius = 1 / std::max(sigma, 1e-20);
        radius = std::min(radius, std::sqrt(area / (MinPoints * 0.7)));
        double expected = 0.7 * area / (radius * radius);
        if (!(expected <= MaxPoints))
            complain(
                "needs {:.3g} points on {}: a mean free path is {:.3g} there, and its area {:.3g}; "
                "choose a smaller scale for the coefficients' unit",
                expected, shape.plugin(), 1 / sigma, area);
        auto candidates = uint32_t(6 * expected);
        PositionSample ps = candidates_on(shape, candidates);
        std::vector<double> c[6];
        const Float *parts[] = { &ps.p.x, &ps.p.y, &ps.p.z, &ps.n.x, &ps.n.y, &ps.n.z };
        for (size_t i = 0; i < 6; ++i)
            c[i] = read_floats(*parts[i] + ps.uv.x * 0);
        std::vector<size_t> kept = thinned(c, candidates, radius);
        std::vector<size_t> shares = nearest_to(kept, c, candidates, radius);
        std::vector<double> chosen[6];
        for (size_t i : kept)
            for (size_t k = 0; k < 6; ++k)
                chosen[k].push_back(c[k][i]);
        std::vector<std::vector<double>> light = irradiance(scene, chosen, kept.size());
        std::vector<IrradianceTree::Point> points;
        for (size_t i = 0; i < kept.size(); ++i) {
            IrradianceTree::Point p{ { chosen[0][i], chosen[1][i], chosen[2][i] },
                                     area * double(shares[i]) / double(candidates),
                                     {} };
            for (const std::vector<double> &numbers : light)
                p.irradiance.push_back(numbers[i]);
            points.push_back(std::move(p));
        }
        return points;
    }
    static PositionSample candidates_on(const Shape &shape, uint32_t n) {
        UInt32 i(jit::lane_index(n));
        return shape.sample_position(Float(0), { radical_inverse_2(i), sobol_2(i) }, true);
    }
    // Points in cubes as large as the distance that counts.
    class Cubes {
    public:
        Cubes(const std::vector<double> (&c)[6], double radius) : m_c(c), m_radius(radius) {}
        void add(size_t i) { m_cubes[cube_of(i)].push_back(i); }
        /// The nearest one, and its squared distance; if there is any within the radius.
        std::pair<size_t, double> nearest(size_t i) const {
            std::pair<size_t, double> best{ i, std::numeric_limits<double>::infinity() };
            Cube at = cube_of(i);
            for (int k = 0; k < 27; ++k) {
                auto near =
                    m_cubes.find({ at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1 });
                if (near == m_cubes.end())
                    continue;
                for (size_t j : near->second) {
                    double d2 = 0;
                    for (size_t a = 0; a < 3; ++a)
                        d2 += (m_c[a][i] - m_c[a][j]) * (m_c[a][i] - m_c[a][j]);
                    if (d2 < best.second)
                        best = { j, d2 };
                }
            }
            return best;
        }

    private:
        using Cube = std::array<long, 3>;
        struct Hash {
            size_t operator()(const Cube &k) const {
                return size_t(k[0]) * 73856093u ^ size_t(k[1]) * 19349663u ^
                       size_t(k[2]) * 83492791u;
            }
        };
        Cube cube_of(size_t i) const {
            auto number = [&](size_t a) { return long(std::floor(m_c[a][i] / m_radius)); };
            return { number(0), number(1), number(2) };
        }
        const std::vector<double> (&m_c)[6];
        double m_radius;
        std::unordered_map<Cube, std::vector<size_t>, Hash> m_cubes;
    };
    // In their order, those that no earlier one is near to.
    static std::vector<size_t> thinned(const std::vector<double> (&c)[6], size_t n, double radius) {
        Cubes cubes(c, radius);
        std::vector<size_t> kept;
        for (size_t i = 0; i < n; ++i)
            if (cubes.nearest(i).second >= radius * radius) {
                cubes.add(i);
                kept.push_back(i);
            }
        return kept;
    }
    // Of all candidates, how many each of those stands for: at edges it is fewer.
    static std::vector<size_t> nearest_to(const std::vector<size_t> &kept,
                                          const std::vector<double> (&c)[6], size_t n,
                                          double radius) {
        Cubes cubes(c, radius);
        std::unordered_map<size_t, size_t> number;
        for (size_t i : kept) {
            number[i] = number.size();
            cubes.add(i);
        }
        std::vector<size_t> shares(kept.size());
        for (size_t i = 0; i < n; ++i)
            ++shares[number.at(cubes.nearest(i).first)];
        return shares;
    }
    // For each channel, or bin of wavelengths, that of all points.
    std::vector<std::vector<double>> irradiance(const Scene &scene,
                                                const std::vector<double> (&c)[6], size_t n) const {
        Interaction it{ Float(0),
                        { float_array(c[0]), float_array(c[1]), float_array(c[2]) },
                        { float_array(c[3]), float_array(c[4]), float_array(c[5]) },
                        Float(0),
                        {} };
        std::vector<std::vector<double>> out;
        bool spectral = variant().colour == Colour::Spectral;
        for (size_t group = 0; group < (spectral ? Bins / 4 : 1); ++group) {
            if (spectral) {
                it.wavelengths = Spectrum(0);
                for (size_t k = 0; k < 4; ++k)
                    it.wavelengths[k] = Float(wavelength_of(4 * group + k));
            }
            struct State {
                Spectrum sum;
                UInt32 sample;
                UMBEL_STRUCT(sum, sample)
            };
            UInt32 point(jit::lane_index(n)), hash = mix_bits(point),
                                              count = jit::opaque(uint32_t(m_irradiance_samples));
            State s{ Spectrum(0), UInt32(0u) };
            s = jit::loop(
                s, [&](const State &s) { return s.sample < count + (hash & UInt32(0u)); },
                [&](State &s) {
                    Vector2 u(radical_inverse_2(s.sample, hash), sobol_2(s.sample, mix_bits(hash)));
                    auto [ds, light] = scene.sample_emitter_direction(it, u, true, true);
                    Float cosine = max(dot(it.n, ds.d), 0);
                    Float enters = cosine * (1 - fresnel(cosine, m_index).r);
                    s.sum += select((ds.pdf > 0) & (cosine > 0), unpolarized(light) * enters,
                                    Spectrum(0));
                    s.sample = s.sample + UInt32(1u);
                },
                "irradiance");
            for (const Float &channel : s.sum.c)
                out.push_back(read_floats(channel * (1.0 / m_irradiance_samples) + it.p.x * 0));
        }
        return out;
    }

    // ---- wavelengths: light is known at some of them, and linear in between
    static constexpr size_t Bins = 16;
    static constexpr double MinPoints = 500, MaxPoints = 4e6;
    static double wavelength_of(size_t bin) {
        return MinWavelength + double(bin) * (MaxWavelength - MinWavelength) / double(Bins - 1);
    }
    struct Bin {
        UInt32 first;
        Float between;
    };
    static std::vector<Bin> bins_of(const Wavelengths &wavelengths) {
        std::vector<Bin> bins;
        if (variant().colour != Colour::Spectral) {
            for (int c = 0; c < variant().channels(); ++c)
                bins.push_back({ UInt32(uint32_t(c)), Float(0) });
            return bins;
        }
        for (const Float &w : wavelengths.c) {
            Float x =
                clamp((w - MinWavelength) * (double(Bins - 1) / (MaxWavelength - MinWavelength)), 0,
                      double(Bins - 1));
            UInt32 first = to_uint(min(floor(x), double(Bins - 2)));
            bins.push_back({ first, x - Float(first) });
        }
        return bins;
    }

    ScatteringCoefficients m_coefficients;
    double m_scale = 1, m_eta = 1, m_quality = 0.05;
    int m_irradiance_samples = 16;
    Float m_exit, m_A, m_index, m_unit, m_open;
    using Points = std::map<const Shape *, std::vector<IrradianceTree::Point>>;
    Points m_points;                     // of shapes of ...
    std::weak_ptr<const Object> m_scene; // ... this one
    IrradianceTree m_tree;
};

UMBEL_PLUGIN(Subsurface, Dipole, "dipole")
} // namespace umbel
