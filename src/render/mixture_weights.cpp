// render/mixture_weights.cpp: weights of what is mixed.
#include "render/mixture_weights.h"
#include "core/number_list.h"
#include <numeric>

namespace umbel {

void MixtureWeights::declare(Params &p, size_t parts, const char *kind) {
    if (p.traversing()) {
        for (size_t i = 0; i < m_weights.size(); ++i)
            p.exposed(fmt::format("weight_{}", i).c_str(), &m_weights[i]).differentiable();
        return;
    }
    std::string text;
    p.string("weights", text, "").doc("As many numbers, between commas; their sum is 1 at most");
    if (!p.loading())
        return;
    const Properties &owner = *p.properties();
    std::vector<double> numbers = parse_number_list(text, "weights", owner);
    if (numbers.size() != parts || numbers.empty())
        fail("{}: there are {} weights for {} {}s; give one weight for each {}", owner.describe(),
             numbers.size(), parts, kind, kind);
    for (double v : numbers)
        if (!(v >= 0))
            fail("{}: the weight {} is negative; weights lie between 0 and 1", owner.describe(), v);
    double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
    if (!(sum <= 1 + 1e-6))
        fail("{}: the weights' sum is {}, which would make energy; scale them down to a sum of 1",
             owner.describe(), sum);
    m_weights.clear();
    for (double v : numbers)
        m_weights.push_back(opaque_float(v));
}

} // namespace umbel
