// hair: many thin tubes of one radius along straight segments, with round joints.
//
// Text files have a vertex a line, as three coordinates, and empty lines between hairs. Binary ones begin with BINARY_HAIR and
// the number of vertices in 32 bits; then come coordinates in single precision, and an infinite number where a hair begins.
// All is little endian. Segments that bend by less than angle_threshold become one. With a reduction, that portion of hairs is
// left out at random, and the others become wider to make up for it [Cook 2007].
#include "core/file_text.h"
#include "render/curve_shape.h"
#include <cmath>
#include <cstring>

namespace umbel {

class HairStrands final : public CurveShape {
public:
    HairStrands() : CurveShape(true) {}

    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/hair.txt'/><float name='radius' "
                  "value='.1'/>");
        CurveShape::declare(p);
        p.file("filename", m_file).doc("The file to read");
        p.number("radius", m_radius, 0.025, 0).fixed().doc("Of all hairs, in the scene's units");
        p.number("angle_threshold", m_threshold, 1, 0, 180)
            .fixed()
            .doc("In degrees: segments that bend by less become one");
        p.number("reduction", m_reduction, 0, 0, 1)
            .fixed()
            .doc("Portion of hairs that is left out, for quick previews");
        if (p.loading() && !(m_radius > 0))
            fail("{}: the radius is {}; it must be positive", p.properties()->describe(), m_radius);
        if (p.loading() && !(m_reduction < 1))
            fail("{}: a reduction of 1 leaves nothing", p.properties()->describe());
    }

    void read_files() override {
        auto hairs = is_binary() ? read_binary() : read_curves(m_file, 3, 1, m_radius);
        std::erase_if(hairs, [](const auto &h) { return h.size() < 2; });
        std::vector<std::vector<Point>> kept;
        for (size_t i = 0; i < hairs.size(); ++i)
            if (m_reduction == 0 || random(i) >= m_reduction)
                kept.push_back(simplified(hairs[i]));
        if (kept.empty())
            fail("{}: no hair of two vertices or more is left", m_file.string());
        set_curves(kept);
    }

private:
    static constexpr std::string_view Magic = "BINARY_HAIR";

    bool is_binary() const { return FileBytes(m_file).view().starts_with(Magic); }

    static double random(size_t i) {
        uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u; // [Steele 2014]
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
        return double((h ^ (h >> 31)) >> 11) * 0x1p-53;
    }

    std::vector<std::vector<Point>> read_binary() const {
        FileBytes file(m_file);
        std::string_view bytes = file.view();
        auto bad = [&](size_t offset, std::string_view what) {
            fail("{}: offset {}: {}", m_file.string(), offset, what);
        };
        size_t at = Magic.size();
        if (bytes.size() < at + 4)
            bad(bytes.size(), "the file ends too early");
        uint32_t count = 0;
        std::memcpy(&count, bytes.data() + at, 4);
        at += 4;
        auto number = [&] {
            float v = 0;
            if (bytes.size() < at + 4)
                bad(bytes.size(), "the file ends too early");
            std::memcpy(&v, bytes.data() + at, 4);
            at += 4;
            return double(v);
        };
        std::vector<std::vector<Point>> out(1);
        for (uint32_t i = 0; i < count; ++i) {
            double x = number();
            if (std::isinf(x)) {
                out.emplace_back();
                x = number();
            }
            double y = number(), z = number();
            if (!std::isfinite(x + y + z))
                bad(at - 12, "a coordinate is not a finite number");
            out.back().push_back({ x, y, z, m_radius });
        }
        return out;
    }

    // Without vertices where it hardly bends; hairs that are left make up for those that are not.
    std::vector<Point> simplified(const std::vector<Point> &hair) const {
        double least = std::cos(m_threshold * Pi / 180), radius = m_radius / (1 - m_reduction);
        auto direction = [](const Point &a, const Point &b) {
            std::array<double, 3> d{ b[0] - a[0], b[1] - a[1], b[2] - a[2] };
            double length = std::hypot(d[0], d[1], d[2]);
            for (double &v : d)
                v = length > 0 ? v / length : 0;
            return d;
        };
        std::vector<Point> out = { hair[0] };
        for (size_t i = 1; i < hair.size(); ++i) {
            if (i + 1 < hair.size()) {
                auto a = direction(out.back(), hair[i]), b = direction(hair[i], hair[i + 1]);
                if (a[0] * b[0] + a[1] * b[1] + a[2] * b[2] > least)
                    continue;
            }
            out.push_back(hair[i]);
        }
        for (Point &p : out)
            p[3] = radius;
        return out;
    }

    std::filesystem::path m_file;
    double m_radius = 0.025, m_threshold = 1, m_reduction = 0;
};

UMBEL_PLUGIN(Shape, HairStrands, "hair")
} // namespace umbel
