// mixturebsdf: a sum of BSDFs with constant weights. Weights that sum to less than 1 absorb the rest.
#include "core/host_array.h"
#include "render/bsdf_mixture.h"
#include <numeric>

namespace umbel {

class MixtureBsdf final : public BsdfMixture {
public:
    void declare(Params &p) override {
        p.example("<string name='weights' value='0.7, 0.3'/><bsdf type='dielectric'/>"
                  "<bsdf type='roughdielectric'/>");
        p.example("<string name='weights' value='0.6, 0.3'/><bsdf type='diffuse'/>"
                  "<bsdf type='roughdielectric'><float name='alpha' value='.05'/></bsdf>");
        p.example("<string name='weights' value='.25 .125 .5'/><bsdf type='diffuse'/>"
                  "<bsdf type='roughconductor'><string name='material' value='Au'/></bsdf>"
                  "<bsdf type='conductor'><string name='material' value='Cu'/></bsdf>");
        p.objects("bsdf", m_parts).doc("What is mixed");
        if (p.traversing()) {
            for (size_t i = 0; i < m_weights.size(); ++i)
                p.exposed(fmt::format("weight_{}", i).c_str(), &m_weights[i]).differentiable();
            return;
        }
        std::string text;
        p.string("weights", text, "")
            .doc("As many numbers, between commas; their sum is 1 at most");
        if (p.loading())
            m_weights = parsed(text, *p.properties());
    }

protected:
    std::vector<Float> weights(const SurfaceInteraction &, const Mask &) const override {
        return m_weights;
    }

private:
    std::vector<Float> parsed(std::string text, const Properties &q) const {
        for (char &c : text)
            if (c == ',' || c == ';')
                c = ' ';
        std::vector<double> numbers;
        const char *at = text.c_str();
        for (char *end = nullptr;; at = end) {
            double v = std::strtod(at, &end);
            if (end == at)
                break;
            numbers.push_back(v);
        }
        while (*at == ' ' || *at == '\t' || *at == '\n')
            ++at;
        if (*at)
            fail("{}: weights: {} is not a number; write, say, \"0.7, 0.3\"", q.describe(),
                 quote(at));
        if (numbers.size() != m_parts.size() || numbers.empty())
            fail("{}: there are {} weights for {} BSDFs; give one weight for each BSDF",
                 q.describe(), numbers.size(), m_parts.size());
        for (double v : numbers)
            if (!(v >= 0))
                fail("{}: the weight {} is negative; weights lie between 0 and 1", q.describe(), v);
        double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
        if (!(sum <= 1 + 1e-6))
            fail("{}: the weights' sum is {}, which would make energy; scale them down to a sum of "
                 "1",
                 q.describe(), sum);
        std::vector<Float> out;
        for (double v : numbers)
            out.push_back(opaque_float(v));
        return out;
    }

    std::vector<Float> m_weights;
};

UMBEL_PLUGIN(BSDF, MixtureBsdf, "mixturebsdf")
} // namespace umbel
