// render/rough_coating.cpp: rough interfaces, by quadrature over microscopic normals.
#include "render/rough_coating.h"
#include "core/host_array.h"
#include "core/quadrature.h"
#include "jit/parallel.h"
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

namespace umbel {

namespace {

// Unpolarized; eta is the index behind over that in front.
double fresnel_host(double cos_i, double eta) {
    double cos_t2 = 1 - (1 - cos_i * cos_i) / (eta * eta);
    if (cos_t2 <= 0)
        return 1;
    double cos_t = std::sqrt(cos_t2), s = (cos_i - eta * cos_t) / (cos_i + eta * cos_t),
           p = (eta * cos_i - cos_t) / (eta * cos_i + cos_t);
    return (s * s + p * p) / 2;
}

// One over the part of D that faces the direction: averages over visible normals are right with this one. Phong's masking is
// Beckmann's.
double exact_masking(Microfacet::Type type, double alpha, double cosine) {
    double tan2 = alpha * alpha * (1 - cosine * cosine) / (cosine * cosine);
    if (!(tan2 > 0))
        return 1;
    if (type == Microfacet::Type::Ggx)
        return 2 / (1 + std::sqrt(1 + tan2));
    double a = 1 / std::sqrt(tan2);
    return 1 / (1 - std::erfc(a) / 2 + std::exp(-a * a) / (2 * a * std::sqrt(Pi)));
}

// As Microfacet::smith_g1(), of an isotropic surface. Of Beckmann's, that is a fit with an error of up to 0.35 %.
double masking(Microfacet::Type type, double alpha, double cosine) {
    if (type != Microfacet::Type::Beckmann)
        return exact_masking(type, alpha, cosine);
    double a = cosine / (alpha * std::sqrt(1 - cosine * cosine));
    // The fit exceeds 1 by 6e-5 before it ends: without that, it is continuous
    return !(a < 1.6)
               ? 1
               : std::min(1.0, (3.535 * a + 2.181 * a * a) / (1 + 2.276 * a + 2.577 * a * a));
}

// The squared tangent of normals, by the part v of them that are less steep: along v the distribution is uniform,
// D cos(theta_m) dm = dv dphi / (2 pi). And back.
double squared_tangent(Microfacet::Type type, double alpha, double v) {
    if (type == Microfacet::Type::Phong) // cos(theta)^(n + 2) is 1 - v
        return std::expm1(-std::min(alpha * alpha, 1.0) * std::log1p(-v));
    return alpha * alpha * (type == Microfacet::Type::Ggx ? v / (1 - v) : -std::log1p(-v));
}
double part_below(Microfacet::Type type, double alpha, double tan2) {
    if (type == Microfacet::Type::Phong)
        return -std::expm1(-std::log1p(tan2) / std::min(alpha * alpha, 1.0));
    double slope2 = tan2 / (alpha * alpha);
    return type == Microfacet::Type::Ggx ? slope2 / (1 + slope2) : -std::expm1(-slope2);
}

// The sum of f over [a, b]. With `root`, f has a square root's singularity at a.
template <class F> double integrate(double a, double b, bool root, F &&f) {
    static const Quadrature rule = gauss_legendre(24);
    double sum = 0;
    for (size_t i = 0; b != a && i < rule.nodes.size(); ++i) {
        double t = (rule.nodes[i] + 1) / 2, w = rule.weights[i] / 2 * (b - a);
        sum += root ? 2 * t * w * f(a + (b - a) * t * t) : w * f(a + (b - a) * t);
    }
    return sum;
}

// Below this cosine, all light is reflected.
double critical_cosine(double eta) { return eta < 1 ? std::sqrt(1 - eta * eta) : 0; }

// Of diffuse light: the integral of F D G (wi . m) over wi and m, over pi. With x = wi . m in place of wi, Fresnel's reflectance
// is smooth on both sides of the critical angle, wherever normals are. At azimuth phi around m, the cosines of wi and wo
// are x cos(theta_m) +- sqrt(1 - x^2) sin(theta_m) cos(phi); signs of cos(phi) and sin(phi) do not matter.
double diffuse_reflectance(Microfacet::Type type, double alpha, double eta) {
    double critical = critical_cosine(eta);
    double sum = integrate(0, 1, false, [&](double s) {
        double v = 1 - (1 - s) * (1 - s), tan2 = squared_tangent(type, alpha, v);
        double cos_m = 1 / std::sqrt(1 + tan2), sin_m = std::sqrt(tan2) * cos_m;
        auto facet = [&](double x) {
            double a = x * cos_m, b = std::sqrt(1 - x * x) * sin_m;
            double first = a < b ? std::acos(a / b) : 0;
            double azimuths = integrate(first, Pi / 2, false, [&](double phi) {
                double shift = b * std::cos(phi), low = a - shift, high = std::min(1.0, a + shift);
                if (low <= 0)
                    return 0.0;
                // Light comes along the one and leaves along the other, or the other way round
                return (exact_masking(type, alpha, low) * masking(type, alpha, high) +
                        masking(type, alpha, low) * exact_masking(type, alpha, high)) /
                       2;
            });
            return 4 * x * azimuths * fresnel_host(x, eta);
        };
        return 2 * (1 - s) / cos_m *
               (integrate(0, critical, false, facet) + integrate(critical, 1, true, facet));
    });
    return sum / Pi;
}

// Of light along the normal, where all azimuths are alike.
double normal_reflectance(Microfacet::Type type, double alpha, double eta) {
    double critical = critical_cosine(eta);
    double last = part_below(type, alpha, 1), total = last; // beyond 45 degrees, light goes down
    if (critical > std::sqrt(0.5))
        total = part_below(type, alpha, 1 / (critical * critical) - 1);
    auto facet = [&](double v) {
        double cos2 = 1 / (1 + squared_tangent(type, alpha, v));
        return fresnel_host(std::sqrt(cos2), eta) *
               masking(type, alpha, std::clamp(2 * cos2 - 1, 1e-9, 1.0));
    };
    return integrate(total, 0, true, facet) * -1 + integrate(total, last, false, facet);
}

// Of derivatives: differences of fourth order are exact enough.
template <class F> std::vector<double> difference(F &&f, double x) {
    double h = 1e-3 * x;
    std::vector<double> a = f(x - 2 * h), b = f(x - h), c = f(x + h), d = f(x + 2 * h);
    for (size_t i = 0; i < a.size(); ++i)
        a[i] = (a[i] - 8 * b[i] + 8 * c[i] - d[i]) / (12 * h);
    return a;
}

// The places of RoughCoating::transmittance, and reflectance_inside behind them.
std::vector<double> tabulate(Microfacet::Type type, double alpha, double eta) {
    const int n = RoughCoating::Size;
    std::vector<double> table(n + 1);
    alpha = std::max(alpha, 1e-4); // as Microfacet has it
    // Mitsuba takes the plain mean of 2 cos R(cos) over the same n cosines, with both ends in full: what it shows is
    // part of how plastic looks
    jit::parallel_for(0, n + 1, [&](int i) {
        table[size_t(i)] =
            i < n ? rough_transmittance(type, alpha, eta, std::max(1e-6, double(i) / (n - 1)))
                  : ((n - 1) * diffuse_reflectance(type, alpha, 1 / eta) +
                     normal_reflectance(type, alpha, 1 / eta)) /
                        n;
    });
    return table;
}

// Many materials have the same roughness, and scenes are loaded again: a table takes milliseconds.
std::vector<double> known_table(Microfacet::Type type, double alpha, double eta) {
    static std::mutex mutex;
    static std::map<std::tuple<Microfacet::Type, double, double>, std::vector<double>> known;
    constexpr size_t Most = 1000; // half a megabyte
    std::tuple key(type, alpha, eta);
    {
        std::lock_guard lock(mutex);
        if (auto it = known.find(key); it != known.end())
            return it->second;
    }
    std::vector<double> table = tabulate(type, alpha, eta);
    std::lock_guard lock(mutex);
    if (known.size() >= Most)
        known.clear();
    return known[key] = table;
}

} // namespace

// The integral of (1 - F) D G (wi . m) / cos(theta_i) over normals m that face wi, where G masks wi and what it is refracted to.
double rough_transmittance(Microfacet::Type type, double alpha, double eta, double cosine) {
    alpha = std::max(alpha, 1e-4); // as Microfacet has it
    double sine = std::sqrt(std::max(0.0, 1 - cosine * cosine)),
           seen = exact_masking(type, alpha, cosine) / (Pi * cosine);
    auto facet = [&](double phi, double tan2) {
        double cos_m = 1 / std::sqrt(1 + tan2), sin_m = std::sqrt(tan2) * cos_m;
        double wi_m = sine * sin_m * std::cos(phi) + cosine * cos_m,
               cos_t2 = 1 - (1 - wi_m * wi_m) / (eta * eta);
        if (wi_m <= 0 || cos_t2 <= 0)
            return 0.0;
        double down = (cosine - wi_m * cos_m) / eta + std::sqrt(cos_t2) * cos_m;
        return down > 0 ? (1 - fresnel_host(wi_m, eta)) *
                              masking(type, alpha, std::min(down, 1.0)) * wi_m / cos_m
                        : 0.0;
    };
    return seen * integrate(0, Pi, false, [&](double phi) {
               // Facets that face away are as steep as this, if there are any
               double away = sine * std::cos(phi) < 0 ? cosine / (sine * std::cos(phi)) : 0;
               double last = away < 0 ? part_below(type, alpha, away * away) : 1;
               return integrate(
                   0, 1, false,
                   [&](double s) { // denser towards steep ones, whose slopes have no bound
                       double v = last * (1 - (1 - s) * (1 - s));
                       return 2 * (1 - s) * last * facet(phi, squared_tangent(type, alpha, v));
                   });
           });
}

namespace {

// Tables of several roughnesses, one after the other. `followed` is the only one, where its derivative is wanted.
RoughCoating rough_coatings(Microfacet::Type type, const std::vector<double> &alphas,
                            const Float &eta, const Float *followed) {
    auto number = [](const Float &v) { return read_floats(Float(v.detached()))[0]; };
    double e = number(eta);
    // Numbers of the host, and with a factor of 0 what their derivatives are
    struct Term {
        std::vector<double> outside, inside;
        Float factor;
    };
    std::vector<Term> terms;
    auto add = [&](const Float &factor, auto &&of) {
        Term &term = terms.emplace_back();
        term.factor = factor;
        for (double a : alphas) {
            std::vector<double> table = of(a);
            term.inside.push_back(table.back());
            term.outside.insert(term.outside.end(), table.begin(), table.end() - 1);
        }
    };
    add(Float(1), [&](double a) { return known_table(type, a, e); });
    if (followed && followed->grad_id())
        add(*followed - Float(followed->detached()), [&](double a) {
            return difference([&](double x) { return tabulate(type, x, e); }, a);
        });
    if (eta.grad_id())
        add(eta - Float(eta.detached()), [&](double a) {
            return difference([&](double x) { return tabulate(type, a, x); }, e);
        });
    RoughCoating out;
    for (const Term &term : terms) {
        Float inside = float_array(term.inside), outside = float_array(term.outside);
        bool is_value = &term == &terms[0];
        out.transmittance = is_value ? outside : out.transmittance + outside * term.factor;
        out.reflectance_inside = is_value ? inside : out.reflectance_inside + inside * term.factor;
    }
    jit::eval(out.transmittance);
    jit::eval(out.reflectance_inside);
    return out;
}

} // namespace

RoughCoating rough_coating(Microfacet::Type type, const Float &alpha, const Float &eta) {
    return rough_coatings(type, { read_floats(Float(alpha.detached()))[0] }, eta, &alpha);
}

// ---- what plugins say of it

// Mitsuba takes a roughness for each axis here, too, although coatings are alike in all directions.
static void take_equal_axes(Params &p, Float &alpha) {
    double u = 0.1, v = 0.1;
    p.number("alpha_u", u, 0.1, 0).fixed().doc("With alpha_v, in place of alpha");
    p.number("alpha_v", v, 0.1, 0).fixed().doc("The same number as alpha_u");
    const Properties *q = p.loading() ? p.properties() : nullptr;
    if (!q || (!q->has("alpha_u") && !q->has("alpha_v")))
        return;
    if (q->has("alpha"))
        fail("{}: give either alpha, or alpha_u and alpha_v", q->describe());
    if (!q->has("alpha_u") || !q->has("alpha_v"))
        fail("{}: alpha_u and alpha_v go together, and one of them is missing", q->describe());
    if (u != v)
        fail("{}: alpha_u is {} and alpha_v is {}, but a coating is as rough along one axis as "
             "along the other; give alpha",
             q->describe(), u, v);
    alpha = opaque_float(u);
}

void CoatingRoughness::declare(Params &p) {
    declare_distribution(p, m_distribution);
    const Property *given = p.loading() ? p.properties()->find("alpha") : nullptr;
    const char *meaning = "Roughness: slope of the microsurface, root mean square; also a texture";
    if (m_texture || (given && given->object()))
        p.texture("alpha", m_texture, 0.1).differentiable().doc(meaning);
    else
        p.scalar("alpha", m_alpha, 0.1, 0).differentiable().doc(meaning);
    take_equal_axes(p, m_alpha);
    p.boolean("sample_visible", m_visible, true)
        .doc("Sample only normals that are seen: less noise");
    p.derived(m_tables.transmittance);
    p.derived(m_tables.reflectance_inside);
}

void CoatingRoughness::configure(const Float &eta) {
    if (!m_texture) {
        m_tables = rough_coating(microfacet_type(m_distribution), m_alpha, eta);
        return;
    }
    m_most = std::max(1.0, m_texture->max_value());
    std::vector<double> alphas(Rows);
    for (int i = 0; i < Rows; ++i)
        alphas[size_t(i)] = m_most * i / (Rows - 1);
    m_tables = rough_coatings(microfacet_type(m_distribution), alphas, eta, nullptr);
}

bool CoatingRoughness::is_outgrown() const { return m_texture && m_texture->max_value() > m_most; }

Microfacet CoatingRoughness::surface(const SurfaceInteraction &si, const Mask &active) const {
    Float alpha = m_texture ? m_texture->eval_1(si, active) : m_alpha;
    return { microfacet_type(m_distribution), alpha, alpha, m_visible };
}

std::pair<UInt32, Float> CoatingRoughness::row(const SurfaceInteraction &si,
                                               const Mask &active) const {
    Float x = clamp(m_texture->eval_1(si, active) * ((Rows - 1) / m_most), 0, Rows - 1),
          cell = min(floor(x), Rows - 2);
    return { to_uint(cell), x - cell };
}

Float CoatingRoughness::transmittance(const SurfaceInteraction &si, const Float &cosine,
                                      const Mask &active) const {
    const Float &table = m_tables.transmittance;
    if (!m_texture)
        return RoughCoating::at(table, cosine, active);
    auto [i, t] = row(si, active);
    return lerp(RoughCoating::at(table, cosine, active, i),
                RoughCoating::at(table, cosine, active, i + 1u), t);
}

Float CoatingRoughness::reflectance_inside(const SurfaceInteraction &si, const Mask &active) const {
    const Float &table = m_tables.reflectance_inside;
    if (!m_texture)
        return table;
    auto [i, t] = row(si, active);
    Float a(jit::gather(table, i, active)), b(jit::gather(table, i + 1u, active));
    return lerp(a, b, t);
}

} // namespace umbel
