// support/parameter_gradients.cpp: see support/parameter_gradients.h.
#include "support/parameter_gradients.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/traverse.h"
#include "render/sensor.h"
#include "support/gradient_check.h"
#include "support/scenes.h"

namespace umbel::test {

namespace {

std::vector<Value *> values_of(const Slot &slot) {
    if (auto *f = std::get_if<Float *>(&slot))
        return { *f };
    if (auto *c = std::get_if<std::array<Float *, 3>>(&slot))
        return { (*c)[0], (*c)[1], (*c)[2] };
    if (auto *t = std::get_if<TensorSlot>(&slot))
        return { t->data };
    if (auto *b = std::get_if<BufferSlot>(&slot); b && b->read().size() > 0)
        return { b->data };
    if (auto *t = std::get_if<TransformSlot>(&slot)) {
        if (!t->data->valid())
            *t->data = float_array(t->host->m);
        return { t->data };
    }
    return {};
}

// Numbers between 0.5 and 1.5, the same for each call.
List weights(size_t seed, size_t n) { return random_points(seed, n, 0.5, 1.5); }

/// Of a transform: it moves, and grows as fast in all directions, as some shapes must; that of a sensor, which may not grow, turns.
List direction_of(const SceneParameter &p, const List &original, size_t seed) {
    List d = weights(seed, original.size());
    if (!std::holds_alternative<TransformSlot>(p.param.slot))
        return d;
    bool turns = dynamic_cast<const Sensor *>(p.owner);
    const double turn[] = { 0, -.6, .5, .6, 0, -.8, -.5, .8, 0 },
                 growth[] = { .5, 0, 0, 0, .5, 0, 0, 0, .5 }, *m = turns ? turn : growth;
    for (size_t i = 0; i < 16; ++i)
        if (i % 4 != 3 || i == 15) {
            d[i] = 0;
            for (size_t k = 0; i < 12 && k < 3; ++k)
                d[i] += m[i / 4 * 3 + k] * original[4 * k + i % 4];
        }
    return d;
}

double dot(const List &a, const List &b) {
    double sum = 0;
    for (size_t i = 0; i < b.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

class Differentiated {
public:
    Differentiated(const Ref<Object> &root, const SceneParameter &p,
                   const std::function<std::vector<Float>()> &f)
        : m_params(root), m_key(p.key), m_f(f), m_slots(values_of(p.param.slot)) {
        for (Value *v : m_slots) {
            m_originals.push_back(read_floats(Float(*v)));
            m_direction.push_back(direction_of(p, m_originals.back(), m_direction.size()));
        }
    }
    ~Differentiated() { move(0); }

    // The weighted sum of the results, so far along the direction.
    double at(double t) {
        move(t);
        double sum = 0;
        std::vector<Float> results = m_f();
        compute(results);
        for (size_t i = 0; i < results.size(); ++i)
            sum += dot(weights(i, results[i].size()), read_floats(results[i]));
        return sum;
    }
    double backward() {
        std::vector<Float> results = follow();
        for (size_t i = 0; i < results.size(); ++i)
            if (ad::grad_enabled(results[i])) {
                // The same value may be there more than once
                ad::accumulate_grad(results[i], float_array(weights(i, results[i].size())));
                ad::enqueue(ad::Mode::Backward, results[i]);
            }
        ad::traverse(ad::Mode::Backward);
        double sum = 0;
        for (size_t k = 0; k < m_slots.size(); ++k)
            sum += dot(read_floats(Float(ad::grad(*m_slots[k]))), m_direction[k]);
        return sum;
    }
    double forward() {
        // Products of their own: a result that others depend on keeps no gradient
        std::vector<Float> products;
        std::vector<Float> results = follow();
        for (size_t i = 0; i < results.size(); ++i)
            products.push_back(results[i] * float_array(weights(i, results[i].size())));
        for (size_t k = 0; k < m_slots.size(); ++k) {
            ad::set_grad(*m_slots[k], float_array(m_direction[k]));
            ad::enqueue(ad::Mode::Forward, *m_slots[k]);
        }
        ad::traverse(ad::Mode::Forward);
        std::vector<Value> gradients;
        for (const Float &p : products)
            gradients.push_back(ad::grad(p)); // zero where none has arrived
        compute(gradients);
        double sum = 0;
        for (const Value &g : gradients)
            for (double v : read_floats(Float(g)))
                sum += v;
        return sum;
    }

private:
    void move(double t) {
        for (size_t k = 0; k < m_slots.size(); ++k) {
            List moved = m_originals[k];
            for (size_t i = 0; i < moved.size(); ++i)
                moved[i] += t * m_direction[k][i];
            *m_slots[k] = float_array(moved);
        }
        m_params.update({ m_key });
    }
    std::vector<Float> follow() {
        for (size_t k = 0; k < m_slots.size(); ++k) {
            *m_slots[k] = float_array(m_originals[k]);
            ad::enable_grad(*m_slots[k], m_key);
        }
        m_params.update({ m_key });
        return m_f();
    }

    SceneParameters m_params;
    std::string m_key;
    const std::function<std::vector<Float>()> &m_f;
    std::vector<Value *> m_slots;
    std::vector<List> m_originals, m_direction;
};

} // namespace

void expect_parameter_gradients(const Ref<Object> &root,
                                const std::function<std::vector<Float>()> &f, const Object *owner,
                                const std::set<std::string> &without_effect) {
    // Colours become spectra by a table, whose derivative has steps
    double tolerance = variant().colour == Colour::Spectral ? 5e-3 : 1e-5;
    check(variant().double_precision);
    SceneParameters params(root);
    for (const SceneParameter &p : params.all()) {
        if (!p.param.is_differentiable || (owner && p.owner != owner) ||
            values_of(p.param.slot).empty())
            continue;
        SCOPED_TRACE(p.key + ", variant " + variant().name);
        // Vertices and transforms carry edges with them, which rays should not cross
        double h = owner ? 1e-5 : 1e-3, scale = 0, want = 0, backward = 0, forward = 0;
        {
            Differentiated d(root, p, f);
            scale = std::abs(d.at(0));
            want = difference(d.at(h), d.at(-h), d.at(2 * h), d.at(-2 * h), h);
            backward = d.backward();
            forward = d.forward();
        }
        if (without_effect.contains(p.key))
            EXPECT_EQ(want, 0) << "has an effect";
        else
            EXPECT_GT(std::abs(want), 1e-6 * scale) << "has no effect";
        // Differences of fourth order are off by h^4 = 1e-12 of a fifth derivative, which narrow lobes have
        EXPECT_NEAR(backward, want, tolerance * std::abs(want) + 1e-9 * scale);
        EXPECT_NEAR(forward, backward, 1e-9 * std::abs(backward) + 1e-12 * scale);
    }
    EXPECT_EQ(ad::live_nodes(), 0u) << ad::listing();
}

} // namespace umbel::test
