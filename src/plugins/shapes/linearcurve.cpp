// linearcurve: tubes along straight lines, with spheres at their ends and joints.
//
// A file has a control point a line, as three coordinates and a radius; empty lines are between curves. to_world does not
// change radii. u runs around the tubes, v along all of them. Tubes are seen from outside only.
#include "render/curve_shape.h"

namespace umbel {

class LinearCurve final : public CurveShape {
public:
    LinearCurve() : CurveShape(true) {}

    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/curves.txt'/>");
        CurveShape::declare(p);
        p.file("filename", m_file).doc("The file to read");
    }
    void read_files() override { set_curves(read_curves(m_file, 4, 2, 1)); }

private:
    std::filesystem::path m_file;
};

UMBEL_PLUGIN(Shape, LinearCurve, "linearcurve")
} // namespace umbel
