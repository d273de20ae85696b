// render/mixture_weights.cpp: weights of what is mixed.
#include "render/mixture_weights.h"
#include <numeric>

namespace umbel {

std::vector<Float> mixture_weights(const std::string &text, size_t parts, const char *kind,
                                   const Properties &owner) {
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
    std::vector<Float> out;
    for (double v : numbers)
        out.push_back(opaque_float(v));
    return out;
}

} // namespace umbel
