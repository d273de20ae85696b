// render/field_of_view.h: how wide a camera or a projector looks.
#pragma once
#include "core/object.h"
#include <cmath>
#include <cstdlib>

namespace umbel {

class FieldOfView {
public:
    static constexpr double Most = 179.999; // degrees

    void declare(Params &p) {
        p.number("fov", fov, 0, 0, Most).doc("Field of view in degrees, along `fov_axis`");
        p.string("focal_length", focal_length, "50mm")
            .doc("In place of `fov`: focal length on 35 mm film, such as 50mm");
        p.choice("fov_axis", axis, "x", { "x", "y", "diagonal", "smaller", "larger" })
            .doc("What `fov` spans");
        if (p.loading() && p.properties()->has("fov") && p.properties()->has("focal_length"))
            fail("{}: give either a field of view (fov) or a focal length (focal_length), not both",
                 p.properties()->describe());
    }

    /// Tangent of half the angle along x, for an image of that width by height. Complains in the name of `owner`.
    double half_width(const std::string &owner, double aspect) const {
        double degrees = fov;
        std::string along = axis;
        if (!(degrees > 0)) { // 35 mm film is 36 mm x 24 mm
            double mm = std::atof(focal_length.c_str());
            if (!(mm > 0))
                fail("{}: focal_length is {}; it must be a positive length such as 50mm", owner,
                     quote(focal_length));
            degrees = 2 * std::atan(std::hypot(36, 24) / (2 * mm)) * 180 / Pi;
            along = "diagonal";
        }
        double t = std::tan(degrees * Pi / 360);
        if (along == "smaller")
            along = aspect > 1 ? "y" : "x";
        else if (along == "larger")
            along = aspect > 1 ? "x" : "y";
        return along == "x" ? t : along == "y" ? t * aspect : t * aspect / std::hypot(1, aspect);
    }

    double fov = 0;
    std::string focal_length, axis;
};

} // namespace umbel
