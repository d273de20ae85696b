// render/bends_unevenly.h: analytic shapes that are not bent alike everywhere.
#pragma once
#include "core/vector.h"

namespace umbel {

class BendsUnevenly {
public:
    virtual ~BendsUnevenly() = default;
    /// AnalyticShape::curvature() where a hit's uv are.
    virtual Vector2 curvature_at(const Vector2 &uv) const = 0;
    /// Whether it is the same everywhere after all.
    virtual bool bends_evenly() const = 0;
};

} // namespace umbel
