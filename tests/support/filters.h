// tests/support/filters.h: values of reconstruction filters.
#pragma once
#include "render/filter.h"
#include "support/variant_fixture.h"

namespace umbel::test {

/// Of a filter with its default parameters, `x` pixels from its centre.
inline double filter_value(const char *name, double x) {
    VariantScope scope(find_variant("interp_rgb"));
    return make_object<Filter>(Properties("rfilter", name))->eval(x);
}

/// The sum of copies at all pixels, `x` pixels from one of them.
inline double filter_sum(const char *name, double x) {
    double sum = 0;
    for (int i = -4; i <= 4; ++i)
        sum += filter_value(name, x + i);
    return sum;
}

} // namespace umbel::test
