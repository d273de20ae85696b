// render/component.h: components of BSDFs and phase functions that are made of others.
#pragma once
#include <cstdint>
#include <optional>

namespace umbel {

/// The context of an object inside another one, whose components are `count` of the outer one's from `first` on; nothing where
/// the component that is wanted (~0u: all) is not among them.
template <class Context>
std::optional<Context> context_inside(Context context, uint32_t first, uint32_t count) {
    if (context.component == ~0u)
        return context;
    if (context.component < first || context.component - first >= count)
        return std::nullopt;
    context.component -= first;
    return context;
}

} // namespace umbel
