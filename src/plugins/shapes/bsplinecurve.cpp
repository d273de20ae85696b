// bsplinecurve: tubes along cubic B-splines, open at their ends.
//
// A file has a control point a line, as three coordinates and a radius; empty lines are between curves, which have four points
// at least. to_world does not change radii. u runs around the tubes, v along all of them. Tubes are seen from outside only.
#include "render/curve_shape.h"

namespace umbel {

class BSplineCurve final : public CurveShape {
public:
    BSplineCurve() : CurveShape(false) {}

    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/curves.txt'/>");
        CurveShape::declare(p);
        p.file("filename", m_file).doc("The file to read");
    }
    void read_files() override { set_curves(read_curves(m_file, 4, 4, 1)); }

private:
    std::filesystem::path m_file;
};

UMBEL_PLUGIN(Shape, BSplineCurve, "bsplinecurve")
} // namespace umbel
