// tests/render/registry_endpoint_test.cpp: what holds for every emitter, sensor and shape that there is: where they are,
// where they are seen, and what leaves them, are the same thing asked in different ways. See support/registry.h.
#include "core/warp.h"
#include "support/parameter_gradients.h"
#include "support/registry.h"

namespace umbel {
using namespace test;

namespace {

const double Forever = std::numeric_limits<double>::infinity();

// Two estimates of the same function, by its integrals over bins, compared with the spread that each of them has.
class Binned {
public:
    /// A sample falls into at most `most` bins.
    explicit Binned(size_t bins, int most = 1) : m_most(most), m_sum(bins), m_squares(bins) {}

    void add(size_t bin, double v) {
        ASSERT_TRUE(std::isfinite(v));
        m_sum[bin] += v;
        m_squares[bin] += v * v;
    }
    bool is_empty() const {
        return std::all_of(m_sum.begin(), m_sum.end(), [](double v) { return v == 0; });
    }
    // Of n samples, and of those of the other one, in `groups` of bins with as many of their own.
    void expect_same(const char *what, const Binned &other, size_t n, size_t other_n,
                     size_t groups = 1) const {
        // Bin by bin
        size_t bins = m_sum.size(), width = bins / groups;
        double chi2 = 0;
        int cells = 0;
        for (size_t b = 0; b < bins; ++b) {
            if (m_sum[b] == 0 && other.m_sum[b] == 0)
                continue;
            Estimate a = over(b, b + 1, n), c = other.over(b, b + 1, other_n);
            double z2 = (a.mean - c.mean) * (a.mean - c.mean);
            chi2 += z2 / (a.error * a.error + c.error * c.error);
            ++cells;
        }
        ASSERT_GT(cells, 0) << what << ": nothing there";
        expect_p_value(fmt::format("{}: chi2 {} of {} bins", what, chi2, cells),
                       chi2_tail(chi2, cells), 200);
        // All together
        double difference = 0, variance = 0, sum = 0;
        for (size_t g = 0; g < bins; g += width) {
            Estimate a = over(g, g + width, n), c = other.over(g, g + width, other_n);
            difference += a.mean - c.mean;
            sum += c.mean;
            variance += a.error * a.error + c.error * c.error;
        }
        EXPECT_LT(std::abs(difference), 4 * std::sqrt(variance)) << what << ": of " << sum;
    }

private:
    // Sum over bins; its error is at least that of a single contribution of usual size: few say little about their spread.
    Estimate over(size_t first, size_t last, size_t n_) const {
        double all = 0, all_squares = 0, sum = 0, squares = 0, n = double(n_);
        for (size_t i = 0; i < m_sum.size(); ++i) {
            all += m_sum[i], all_squares += m_squares[i];
            if (i >= first && i < last)
                sum += m_sum[i], squares += m_squares[i];
        }
        if (last - first > 1)
            squares *= m_most; // of two contributions, (a + b)^2 <= 2 (a^2 + b^2)
        double usual = all > 0 ? all_squares / all : 0, mean = sum / n;
        return { mean, std::sqrt(std::max(squares / n - mean * mean, usual * usual / n) / n) };
    }

    int m_most;
    std::vector<double> m_sum, m_squares;
};

std::array<std::vector<double>, 3> read(const Vector3 &v) {
    compute(v);
    return { read_floats(v.x), read_floats(v.y), read_floats(v.z) };
}
Float numbers(uint64_t seed, size_t n, double low = 0, double high = 1) {
    return make(uniform_numbers(seed, n)) * (high - low) + low;
}
Vector2 pairs(uint64_t seed, size_t n) { return { numbers(seed, n), numbers(seed + 1, n) }; }

// All channels count, and not alike; over wavelengths, their integral.
Float brightness(const Spectrum &s) {
    Spectrum u = unpolarized(s);
    if (variant().colour == Colour::Rgb)
        return u[0] * 0.2 + u[1] * 0.3 + u[2] * 0.5;
    return mean(u);
}

/// Of a surface that sends light along its normals only, or of a ray, nothing else can be asked than what leaves it.
bool can_be_seen(const Endpoint &e) {
    return !(e.has(EndpointFlags::DeltaDirection) &&
             e.has(EndpointFlags::Surface | EndpointFlags::DeltaPosition));
}
/// Surrounds the scene, or shines on all of it.
bool is_far(const Endpoint &e) {
    return e.has(EndpointFlags::Infinite) ||
           (e.has(EndpointFlags::DeltaDirection) && can_be_seen(e));
}

/// Several endpoints in one: which of them is asked is drawn.
bool is_several(const Endpoint &e) {
    Params params(Params::Mode::Traverse);
    const_cast<Endpoint &>(e).declare(params);
    for (const Param &p : params.all())
        if (p.is_list && p.type == Sensor::Kind && p.objects.size() > 1)
            return true;
    return false;
}

struct Ball {
    std::array<double, 3> centre;
    double radius;
};
// Around an endpoint; around the scene, if the endpoint surrounds that.
Ball ball_around(const Endpoint &e, const Scene &scene) {
    BoundingBox b = is_far(e) ? scene.bounds() : e.bounds();
    if (b.is_empty())
        return { { 0, 0, 0 }, 1 };
    return { b.centre(), b.radius() };
}

Interaction interaction_at(const Vector3 &p) {
    Interaction it;
    it.t = Float(1);
    it.p = p;
    it.n = Vector3(Float(0));
    it.time = Float(0);
    return it;
}

} // namespace

// What every endpoint answers, in a scene where nothing is in its way.
class EndpointTest : public ExampleTest {
protected:
    EndpointTest() : ExampleTest("llvm_rgb") {}
    virtual Tried<Endpoint> load() { return load_example<Endpoint>(GetParam(), true); }

    // The faces of a cube around the endpoint, or inside of what surrounds the scene: what crosses them comes by rays that
    // leave the endpoint, or by looking for it from there. Each face has 4 x 4 bins, and of directions four in each of them:
    // a place and a direction make a ray.
    void expect_connections() {
        auto [scene, e] = load();
        if (!can_be_seen(*e))
            return;
        Ball ball = ball_around(*e, *scene);
        double half = is_far(*e) ? 0.5 * ball.radius : 2 * ball.radius + 1;
        const std::array<double, 3> &c = ball.centre;
        auto bin_of = [&](int face, double a, double b, double da, double db) -> size_t {
            auto cell = [&](double x) {
                return std::clamp(int(std::floor((x / half + 1) * 2)), 0, 3);
            };
            return size_t(4 * (16 * face + 4 * cell(b) + cell(a)) + (da > 0 ? 1 : 0) +
                          (db > 0 ? 2 : 0));
        };

        const size_t n = 200000, m = 30000;
        const size_t bins = 6 * 16 * 4;
        Binned leaving(bins, is_far(*e) ? 2 : 1),
            seen(bins); // in and out again
        auto [ray, weight] = e->sample_ray(Float(0), numbers(1, n), pairs(2, n), pairs(4, n), true);
        Float zero = numbers(1, n) * 0;
        compute(ray, weight);
        auto o = read(ray.o + Vector3(zero)), d = read(ray.d + Vector3(zero));
        std::vector<double> value = read_floats(brightness(weight) + zero),
                            maxt = read_floats(ray.maxt + zero);
        for (size_t i = 0; i < n; ++i)
            for (int face = 0; face < 6; ++face) {
                size_t k = size_t(face / 2), a = (k + 1) % 3, b = (k + 2) % 3;
                double t = (c[k] + (face % 2 ? half : -half) - o[k][i]) / d[k][i];
                double x = o[a][i] + t * d[a][i] - c[a], y = o[b][i] + t * d[b][i] - c[b];
                if (t > 0 && t < maxt[i] && std::abs(x) <= half && std::abs(y) <= half)
                    leaving.add(bin_of(face, x, y, d[a][i], d[b][i]), value[i]);
            }

        for (int face = 0; face < 6; ++face) {
            size_t k = size_t(face / 2), a = (k + 1) % 3, b = (k + 2) % 3;
            uint64_t seed = uint64_t(100 + 10 * face);
            Float p[3];
            p[k] = Float(c[k] + (face % 2 ? half : -half)) + numbers(seed, m) * 0;
            p[a] = numbers(seed, m, c[a] - half, c[a] + half);
            p[b] = numbers(seed + 1, m, c[b] - half, c[b] + half);
            Interaction it = interaction_at({ p[0], p[1], p[2] });
            auto [wavelengths, inv_density] = sample_wavelengths(numbers(seed + 2, m));
            it.wavelengths = wavelengths;
            auto [ds, arriving] = e->sample_direction(it, pairs(seed + 3, m), true);
            Float cosine = abs(k == 0 ? ds.d.x : k == 1 ? ds.d.y : ds.d.z);
            std::vector<double> v =
                read_floats(brightness(unpolarized(arriving) * inv_density) * cosine + p[k] * 0);
            std::vector<double> x = read_floats(p[a]), y = read_floats(p[b]);
            auto towards = read(ds.d + Vector3(p[k] * 0));
            for (size_t i = 0; i < m; ++i)
                if (v[i] != 0)
                    seen.add(bin_of(face, x[i] - c[a], y[i] - c[b], -towards[a][i], -towards[b][i]),
                             v[i] * 4 * half * half);
        }
        leaving.expect_same("light through a cube", seen, n, m, 6);
    }

    // Places around the endpoint, or in what surrounds the scene.
    Interaction places_around(const Endpoint &e, const Scene &scene, size_t n) {
        Ball ball = ball_around(e, scene);
        double r = is_far(e) ? 0.5 * ball.radius : 2 * ball.radius + 1;
        auto &c = ball.centre;
        Vector3 p{ numbers(51, n, c[0] - r, c[0] + r), numbers(52, n, c[1] - r, c[1] + r),
                   numbers(53, n, c[2] - r, c[2] + r) };
        Interaction it = interaction_at(p);
        it.wavelengths = sample_wavelengths(numbers(54, n)).first;
        return it;
    }

    void expect_one_answer() {
        const size_t n = 2000;
        auto [scene, e] = load();
        Interaction it = places_around(*e, *scene, n);
        auto [ds, weight] = e->sample_direction(it, pairs(61, n), true);
        Mask valid = ds.pdf > 0;
        Float zero = it.p.x * 0, delta = select(ds.delta, zero + 1, zero);
        EXPECT_EQ(read_floats(delta),
                  std::vector<double>(n, e->has(EndpointFlags::Delta) ? 1.0 : 0.0));
        // A density where there is one, and what arrives over it
        Float density = e->pdf_direction(it, ds, valid);
        Spectrum value = unpolarized(e->eval_direction(it, ds, valid));
        compute(ds, weight, value, density);
        std::vector<double> want = read_floats(select(valid & !ds.delta, ds.pdf, zero)),
                            got = read_floats(select(valid, density, zero)),
                            arriving = read_floats(select(valid, brightness(value), zero)),
                            sampled = read_floats(select(valid, brightness(weight) * ds.pdf, zero)),
                            length = read_floats(select(valid, norm(ds.d), zero + 1)),
                            off = read_floats(select(
                                valid, norm(fma(ds.d, ds.dist, it.p) - ds.p) / ds.dist, zero));
        double most = 0;
        for (size_t i = 0; i < n; ++i) {
            ASSERT_NEAR(got[i], want[i], 1e-3 * want[i]) << "density, place " << i;
            ASSERT_NEAR(sampled[i], arriving[i], 1e-3 * arriving[i]) << "value, place " << i;
            ASSERT_NEAR(length[i], 1, 1e-5);
            ASSERT_LE(off[i], 1e-4) << "d and dist do not lead to p";
            most = std::max(most, arriving[i]);
        }
        if (can_be_seen(*e))
            EXPECT_GT(most, 0);
        else
            EXPECT_EQ(most, 0);
    }

    // Directions in which the endpoint is seen from a few places.
    void expect_directions() {
        auto [scene, e] = load();
        if (!can_be_seen(*e))
            return;
        if (e->has(EndpointFlags::Delta) && is_several(*e))
            return; // seen in as many directions as there are of them
        if (e->has(EndpointFlags::Delta))
            return expect_delta(*e, *scene);
        Ball ball = ball_around(*e, *scene);
        const size_t n = 200000;
        for (const std::array<double, 3> &w :
             { std::array{ 0.3, 0.2, 1.2 }, std::array{ -0.6, 1.0, 0.8 },
               std::array{ 1.1, -0.3, -1.0 } }) {
            double r = ball.radius * (e->has(EndpointFlags::Infinite) ? 0.3 : 1);
            Interaction it = interaction_at({ opaque_float(ball.centre[0] + r * w[0]),
                                              opaque_float(ball.centre[1] + r * w[1]),
                                              opaque_float(ball.centre[2] + r * w[2]) });
            // Densities grow without bound where a surface is seen edge on; times the cosine there, they do not
            auto bounded = [&](const DirectionSample &s, const Float &v) {
                return (e->has(EndpointFlags::Surface) ? v * abs_dot(s.n, s.d) : v) + s.d.x * 0;
            };
            Binned sampled(DirectionBins), uniform(DirectionBins), connected(DirectionBins),
                met(DirectionBins);
            auto [ds, light] = e->sample_direction(it, pairs(1, n), true);
            add_directions(sampled, ds.d, bounded(ds, select(ds.pdf > 0, Float(1), Float(0))));
            add_directions(connected, ds.d, brightness(light) + ds.d.x * 0);

            // The density, at directions that are as likely as any other
            Vector3 d = square_to_uniform_sphere(pairs(3, n));
            Ray ray{ it.p + d * Float(0), d, Float(Forever), Float(0), {} };
            SurfaceInteraction si = scene->ray_intersect(ray, true);
            DirectionSample seen = scene->direction_to(it, si);
            Mask meets = e->shape() ? si.shape_number == UInt32(e->shape()->global_number())
                                    : si.shape == UInt32(0u);
            Float density = e->pdf_direction(it, seen, true) * (4 * Pi);
            add_directions(uniform, d, select(meets, bounded(seen, density), Float(0)));
            Spectrum seen_by_chance = select(meets, unpolarized(e->eval(si, meets)), Spectrum(0));
            add_directions(met, d, brightness(seen_by_chance) * (4 * Pi) + d.x * 0);
            SCOPED_TRACE(fmt::format("from {}, {}, {}", w[0], w[1], w[2]));
            if (uniform.is_empty() && sampled.is_empty()) // from behind there is nothing to see
                continue;
            sampled.expect_same("directions", uniform, n, n);
            if (e->kind() == Emitter::Kind) // the same light, towards a lamp and by chance
                connected.expect_same("light", met, n, n);
        }
    }
    static constexpr size_t DirectionBins = 24 * 24;
    static void add_directions(Binned &bins, const Vector3 &d, const Float &value) {
        auto w = read(d);
        std::vector<double> v = read_floats(value);
        for (size_t i = 0; i < v.size(); ++i) {
            auto cell = [](double x) { return size_t(std::clamp(int(x * 24), 0, 23)); };
            double phi = std::atan2(w[1][i], w[0][i]);
            if (v[i] != 0)
                bins.add(cell(phi * InvTwoPi + 0.5) * 24 + cell(w[2][i] * 0.5 + 0.5), v[i]);
        }
    }
    void expect_delta(const Endpoint &e, const Scene &scene) {
        Interaction it = places_around(e, scene, 100);
        DirectionSample a = e.sample_direction(it, pairs(1, 100), true).first,
                        b = e.sample_direction(it, pairs(3, 100), true).first;
        EXPECT_EQ(read(a.d), read(b.d)) << "a delta endpoint is seen in one direction";
        EXPECT_EQ(read(a.p), read(b.p));
    }

    // Positions are uniform in area. So are those at which random lines meet a surface: of lines through a ball, uniform in
    // direction and offset, as many meet an area as its size by twice that of the ball's disk [Santalo 1976].
    void expect_positions() {
        auto [scene, e] = load();
        if (is_far(*e) || is_several(*e))
            return; // is nowhere, or anywhere
        Vector2 u = pairs(71, 100);
        auto [ps, weight] = e->sample_position(Float(0), u, true);
        Float zero = u.x * 0;
        if (e->has(EndpointFlags::DeltaPosition)) {
            EXPECT_EQ(read_floats(ps.pdf), read_floats(Float(1)));
            EXPECT_EQ(read_floats(e->pdf_position(ps, true)), read_floats(Float(0)));
            EXPECT_EQ(read_floats(weight), read_floats(Float(1)));
            Interaction it = places_around(*e, *scene, 1);
            EXPECT_EQ(read(ps.p), read(e->sample_direction(it, pairs(1, 1), true).first.p))
                << "not where it is seen";
            return;
        }
        std::vector<double> density = read_floats(e->pdf_position(ps, true) * weight + zero);
        for (double v : density)
            ASSERT_NEAR(v, 1, 1e-5);
        if (!e->shape()) // a lens, which rays do not meet
            return;

        Ball ball = ball_around(*e, *scene);
        double r = ball.radius;
        auto &c = ball.centre;
        auto bin_of = [&](double x, double y,
                          double z) { // odd, so that flat shapes lie inside of bins
            auto cell = [&](double v, double centre) {
                return size_t(std::clamp(int(std::floor(((v - centre) / r + 1) * 2.5)), 0, 4));
            };
            return (cell(x, c[0]) * 5 + cell(y, c[1])) * 5 + cell(z, c[2]);
        };
        const size_t n = 300000, m = 100000;
        Binned sampled(125), met(125, 2);
        auto [all, inv_density] = e->sample_position(Float(0), pairs(73, m), true);
        auto p = read(all.p);
        std::vector<double> area = read_floats(inv_density + all.p.x * 0);
        for (size_t i = 0; i < m; ++i)
            sampled.add(bin_of(p[0][i], p[1][i], p[2][i]), area[i]);

        Float z = numbers(75, n, -1, 1), phi = numbers(76, n, 0, 2 * Pi), s = safe_sqrt(1 - z * z);
        Frame frame(Vector3{ s * cos(phi), s * sin(phi), z });
        Float offset = sqrt(numbers(77, n)) * r, angle = numbers(78, n, 0, 2 * Pi);
        Vector3 start = frame.s * (offset * cos(angle)) + frame.t * (offset * sin(angle)) -
                        frame.n * Float(1.5 * r) + Vector3(Float(c[0]), Float(c[1]), Float(c[2]));
        Ray ray{ start, frame.n, Float(Forever), Float(0), {} };
        for (int hit = 0; hit < 3; ++hit) {
            SurfaceInteraction si = scene->ray_intersect(ray, true);
            compute(si);
            std::vector<double> valid = read_floats(select(si.is_valid(), z * 0 + 1, z * 0));
            auto q = read(si.p);
            for (size_t i = 0; i < n; ++i)
                if (valid[i] > 0)
                    met.add(bin_of(q[0][i], q[1][i], q[2][i]), 2 * Pi * r * r);
            Ray next = si.spawn_ray(ray.d);
            ray.o = select(si.is_valid(), next.o, ray.o + ray.d * Float(1e3));
            compute(ray);
        }
        met.expect_same("positions", sampled, n, m);
    }

    void expect_derivatives() {
        for (const char *name : { "interp_ad_rgb_double", "interp_ad_spectral_double" }) {
            VariantScope inner(find_variant(name));
            auto [scene, e] = load();
            Interaction it = places_around(*e, *scene, 50);
            // Where an image is bright, samples are many: they move with it, but derivatives do not follow them there
            bool moves = e->has(EndpointFlags::Infinite) && e->has(EndpointFlags::SpatiallyVarying);
            DirectionSample fixed = e->sample_direction(it, pairs(61, 50), true).first;
            compute(fixed);
            // What sensors see near the border of their films comes and goes
            auto sensor = std::dynamic_pointer_cast<Sensor>(e);
            Mask seen(false);
            if (sensor) {
                auto inside = [](const Float &x, double width) {
                    return (x > 0.02 * width) & (x < 0.98 * width);
                };
                seen = (fixed.pdf > 0) & inside(fixed.uv.x, sensor->film().width()) &
                       inside(fixed.uv.y, sensor->film().height());
            }
            expect_parameter_gradients(e, [&] {
                if (moves)
                    return e->eval_direction(it, fixed, true).c;
                Sensor::FollowedAnswers with_derivatives;
                if (sensor || !can_be_seen(*e)) {
                    auto [ray, carried] =
                        e->sample_ray(Float(0), numbers(1, 50), pairs(2, 50), pairs(4, 50), true);
                    std::vector<Float> out = carried.c;
                    for (const Vector3 &v : { ray.o, ray.d })
                        out.insert(out.end(), { v.x, v.y, v.z });
                    if (sensor && can_be_seen(*e)) {
                        auto [ds, weight] = e->sample_direction(it, pairs(61, 50), true);
                        for (const Float &v : { weight.c[0], ds.uv.x, ds.uv.y, ds.dist })
                            out.push_back(select(seen, v, Float(0)));
                    }
                    return out;
                }
                auto [ds, weight] = e->sample_direction(it, pairs(61, 50), true);
                std::vector<Float> out = weight.c, value = e->eval_direction(it, ds, true).c;
                out.insert(out.end(), value.begin(), value.end());
                return out;
            });
        }
    }
};

class BackendEmitters : public EndpointTest {};
UMBEL_EXAMPLES(BackendEmitters, "emitter")

TEST_P(BackendEmitters, RaysAndConnectionsAgree) { expect_connections(); }
TEST_P(BackendEmitters, RaysAndConnectionsAgreeOverWavelengths) {
    VariantScope inner(find_variant("llvm_spectral"));
    expect_connections();
}
TEST_P(BackendEmitters, GiveOneAnswer) { expect_one_answer(); }
TEST_P(BackendEmitters, DirectionsFollowTheirDensity) { expect_directions(); }
TEST_P(BackendEmitters, PositionsAreUniform) { expect_positions(); }
TEST_P(BackendEmitters, DerivativesMatchDifferences) { expect_derivatives(); }

class BackendSensors : public EndpointTest {};
UMBEL_EXAMPLES(BackendSensors, "sensor")

TEST_P(BackendSensors, RaysAndConnectionsAgree) { expect_connections(); }
TEST_P(BackendSensors, RaysAndConnectionsAgreeOverWavelengths) {
    VariantScope inner(find_variant("llvm_spectral"));
    expect_connections();
}
TEST_P(BackendSensors, GiveOneAnswer) { expect_one_answer(); }
TEST_P(BackendSensors, DirectionsFollowTheirDensity) { expect_directions(); }
TEST_P(BackendSensors, PositionsAreUniform) { expect_positions(); }
TEST_P(BackendSensors, DerivativesMatchDifferences) { expect_derivatives(); }

// A point on a ray through some place of the film is seen there.
TEST_P(BackendSensors, SeePointsWhereTheirRaysGo) {
    const size_t n = 1000;
    VariantScope inner(find_variant("llvm_rgb_double"));
    auto sensor = load_example<Sensor>(GetParam(), true);
    if (!can_be_seen(*sensor) || is_several(*sensor))
        return;
    Vector2 film = pairs(1, n);
    Ray ray = sensor->sample_ray(Float(0), Float(0.5), film, pairs(3, n), true).first;
    Interaction it = interaction_at(ray(numbers(5, n, 0.5, 5)));
    // Of a lens, the same point of it
    DirectionSample ds = sensor->sample_direction(it, pairs(3, n), true).first;
    const Film::Crop &crop = sensor->film().crop();
    std::vector<double> u = read_floats(film.x), v = read_floats(film.y),
                        x = read_floats(ds.uv.x + film.x * 0),
                        y = read_floats(ds.uv.y + film.x * 0),
                        pdf = read_floats(ds.pdf + film.x * 0);
    for (size_t i = 0; i < n; ++i) {
        ASSERT_GT(pdf[i], 0) << "not seen";
        double across = u[i] * sensor->film().width() - crop.x,
               down = v[i] * sensor->film().height() - crop.y;
        // Their points may belong to any place of a pixel
        if (sensor->has(EndpointFlags::Surface) || crop.width * crop.height == 1) {
            ASSERT_EQ(std::floor(x[i]), std::floor(across));
            ASSERT_EQ(std::floor(y[i]), std::floor(down));
            continue;
        }
        ASSERT_NEAR(x[i], across, 1e-9);
        ASSERT_NEAR(y[i], down, 1e-9);
    }
}

// Shapes, as lights.
class BackendShapes : public EndpointTest {
protected:
    Tried<Endpoint> load() override {
        auto [scene, shape] = load_example<Shape>(light());
        return { scene, shape->emitter() };
    }
    Example light() const {
        Example e = GetParam();
        e.parameters += "<emitter type='area'/>";
        return e;
    }
    // Groups and instances of them emit no light: that must be said.
    bool can_emit() const {
        try {
            load_example<Shape>(light());
            return true;
        } catch (const UserError &error) {
            EXPECT_NE(std::string(error.what()).find("emit"), std::string::npos) << error.what();
            return false;
        }
    }
};
UMBEL_EXAMPLES(BackendShapes, "shape")

TEST_P(BackendShapes, RaysAndConnectionsAgree) {
    if (can_emit())
        expect_connections();
}
TEST_P(BackendShapes, GiveOneAnswer) {
    if (can_emit())
        expect_one_answer();
}
TEST_P(BackendShapes, DirectionsFollowTheirDensity) {
    if (can_emit())
        expect_directions();
}
TEST_P(BackendShapes, PositionsAreUniform) {
    if (can_emit())
        expect_positions();
}

} // namespace umbel
