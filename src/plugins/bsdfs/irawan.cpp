// irawan: woven cloth, by the model of Irawan and Marschner [Irawan 2008; Irawan 2012].
//
//     f(wi, wo) = ks c S(x, y, wi, wo) + kd / pi
//
// `filename` names a weave: a tile of squares that `repeat_u` times `repeat_v` of cover the unit square of texture coordinates. Each
// square shows a piece of yarn that bends down at its ends; what its fibers reflect is S, a highlight where the half vector is
// at a right angle to them. c makes S reflect on average all of what falls on the cloth from everywhere, so that `ks` and `kd` are
// reflectances. Of single places and directions more can come back than falls there: the model is one of highlights, not of energy.
// One-sided: see `twosided`.
//
// The weave's grammar:
//
//     weave {
//       name = "Plain weave", tileWidth = 2, tileHeight = 2,
//       alpha = 0.05, beta = 4,         /* scattering of fibers: uniform, and forwards */
//       ss = 0, hWidth = 0.5,           /* smoothing of filaments' ends, from 0 to below 1; width of highlights, of a piece's size */
//       warpArea = 2, weftArea = 2,     /* what yarns of either kind cover */
//       fineness = 0,                   /* cells a square, each of a random intensity; 0: none */
//       period = 0,                     /* squares over which umax varies; 0: it does not */
//       dWarpUmaxOverDWarp = 0,         /* by how much, of warp or weft, along warp or weft; four such numbers */
//       pattern { 1, 2, 2, 1 },         /* yarns from 1 on, row by row from the top */
//       yarn { type = warp,             /* along v; or weft, along u */
//              psi = 0, umax = 25,      /* twist, where 0 stands for filaments; inclination at the ends */
//              kappa = 0,               /* how it bends: 0 a circle, above 0 flat in the middle, below 0 steeper */
//              width = 1, length = 1, centerU = 0.5, centerV = 0.5,    /* squares; places in the tile, (0, 0) bottom left */
//              kd = {0.2, 0.1, 0.1}, ks = $gloss },
//       yarn { ... }
//     }
//
// Angles are degrees, and what is not said is 0. In place of a number or colour may stand `$name`: a parameter of the BSDF, which must
// then be given.
#include "core/host_array.h"
#include "core/random.h"
#include "core/scene_file.h"
#include "core/warp.h"
#include "jit/array.h"
#include "render/bsdf.h"
#include "render/lobe_choice.h"
#include "render/weave_file.h"
#include <cmath>

namespace umbel {

namespace {

// A whole number, which may be below zero, as bits.
UInt32 bits_of(const Float &whole) { return UInt32(jit::cast(jit::Type::U32, to_int(whole))); }

UInt32 hash(const Float &x, const Float &y, uint32_t seed) {
    return mix_bits(bits_of(x) ^ mix_bits(bits_of(y) + UInt32(seed)));
}

// Gradient noise on a line, one for each row: smooth, 0 at whole numbers, between -1/2 and 1/2.
Float noise(const Float &x, const Float &row, uint32_t seed) {
    Float i = floor(x), f = x - i;
    auto slope = [&](const Float &at) { return 2 * to_unit(hash(at, row, seed)) - 1; };
    Float fade = f * f * f * fma(f, fma(f, Float(6), Float(-15)), Float(10));
    return lerp(slope(i) * f, slope(i + 1) * (f - 1), fade);
}

} // namespace

class Irawan final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/staple.wv'/><float name='repeat_u' "
                  "value='3.5'/><float name='repeat_v' value='3'/>"
                  "<rgb name='warp_kd' value='.1,.2,.4'/><rgb name='gloss' value='.1,.1,.08'/>");
        p.example("<string name='filename' value='$files/filament.wv'/><float name='umax' "
                  "value='30'/><float name='kd_multiplier' value='.9'/><float "
                  "name='ks_multiplier' value='.8'/>");
        p.file("filename", m_file).doc("A weave, of the grammar above");
        p.scalar("repeat_u", m_repeat_u, 1, 0).doc("Tiles along u");
        p.scalar("repeat_v", m_repeat_v, 1, 0).doc("Tiles along v");
        p.scalar("kd_multiplier", m_kd_scale, 1, 0).differentiable().doc("Multiplies all `kd`");
        p.scalar("ks_multiplier", m_ks_scale, 1, 0).differentiable().doc("Multiplies all `ks`");
        if (p.mode() == Params::Mode::Describe)
            p.exposed("*", {}).doc("Numbers and colours of the names that the weave asks for");
        if (p.loading())
            load(p);
        if (p.traversing())
            for (const NamedColour &c : m_colours)
                if (!c.name.empty())
                    p.child(c.name.c_str(), c.texture);
    }
    void configure() override {
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide |
                             BSDFFlags::Anisotropic | BSDFFlags::SpatiallyVarying,
                         BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide |
                             BSDFFlags::SpatiallyVarying };
        if (m_normalization.valid())
            return;
        std::vector<double> numbers;
        for (const Yarn &y : m_weave.yarns) {
            double area = y.is_weft ? m_weave.weft_area : m_weave.warp_area;
            numbers.insert(numbers.end(), { y.psi, y.umax, y.kappa, y.width, y.length, y.u, y.v,
                                            (m_weave.warp_area + m_weave.weft_area) / area });
            (y.psi == 0 ? m_has_filaments : m_has_staples) = true;
        }
        m_numbers = float_array(numbers);
        m_pattern = jit::copy(m_weave.pattern);
        m_kinds = jit::copy(m_kinds_host);
        m_normalization = opaque_float(normalization());
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        LobeChoice choice(ctx, BSDFFlags::GlossyReflection);
        if (choice.none())
            return { Spectrum(0), Float(0) };
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        Float density = select(good, InvPi * wo.z, Float(0));
        return { depolarize(reflected(choice, si, wo, good) * density), density };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        LobeChoice choice(ctx, BSDFFlags::GlossyReflection);
        if (choice.none())
            return BSDFSample::none();
        choice.weigh(1, 1); // both are drawn alike
        Vector3 wo = square_to_cosine_hemisphere(u2);
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        return choice.sampled(u1 < choice.probability, BSDFFlags::GlossyReflection, good, wo,
                              InvPi * wo.z, reflected(choice, si, wo, good));
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return colour(si, piece_at(tiles(si.uv), active).kd, active) * m_kd_scale;
    }

private:
    struct NamedColour {
        std::string name; // of the parameter; empty: from the file
        SpectrumData data;
        Ref<Texture> texture;
    };
    // A piece of yarn and a place on it: y runs along it, x across, both from its centre.
    struct Piece {
        Mask is_weft;
        UInt32 kd, ks;
        Float psi, umax, kappa, width, length, x, y;
        Float brightness;
    };

    void load(Params &p) {
        const Properties &q = *p.properties();
        m_colours.clear();
        m_kinds_host.clear();
        auto given = [&](const std::string &name) -> std::string {
            for (const std::string &n : { name, snake_case(name) }) // as files of old are read
                if (q.has(n))
                    return n;
            fail("{}: the weave {} asks for the parameter \"{}\", which is not given", q.describe(),
                 m_file.string(), name);
        };
        m_weave =
            read_weave(m_file, [&](const std::string &name) { return q.get<double>(given(name)); });
        auto number_of = [&](const Yarn::Colour &c) {
            auto *rgb = std::get_if<std::array<double, 3>>(&c);
            std::string name = rgb ? "" : given(std::get<std::string>(c));
            SpectrumData data;
            if (rgb)
                data = SpectrumData::from_rgb(*rgb, SpectrumData::Intent::Reflectance);
            for (size_t i = 0; i < m_colours.size(); ++i)
                if (m_colours[i].name == name && m_colours[i].data == data)
                    return uint32_t(i);
            Ref<Texture> texture;
            if (rgb)
                texture = std::dynamic_pointer_cast<Texture>(p.loader()->load_spectrum(data, q));
            else
                p.texture(name.c_str(), texture, 0);
            m_colours.push_back({ name, data, texture });
            return uint32_t(m_colours.size() - 1);
        };
        for (const Yarn &y : m_weave.yarns) {
            uint32_t kd = number_of(y.kd), ks = number_of(y.ks);
            m_kinds_host.insert(m_kinds_host.end(), { y.is_weft, kd, ks, 0 });
        }
    }

    // Places in tiles, downwards from the top of the unit square.
    Vector2 tiles(const Vector2 &uv) const {
        return { uv.x * m_repeat_u, (1 - uv.y) * m_repeat_v };
    }

    Piece piece_at(const Vector2 &tiles, const Mask &active) const {
        double width = m_weave.width, height = m_weave.height;
        Float x = tiles.x * width, y = tiles.y * height, tile_x = floor(tiles.x),
              tile_y = floor(tiles.y);
        // Roundings may lead beyond the last square
        Float column = clamp(floor(x - tile_x * width), 0, width - 1),
              row = clamp(floor(y - tile_y * height), 0, height - 1);
        UInt32 yarn = jit::gather(m_pattern, to_uint(fma(row, Float(width), column)), active);
        yarn = yarn - UInt32(1u);
        auto [weft, kd, ks, none] = jit::gather_packet<uint32_t, 4>(m_kinds, yarn, active);
        std::vector<Value> n = jit::gather_packet(m_numbers, yarn, 8, active);
        Piece p{ weft != UInt32(0u), kd,          ks,       Float(n[0]), Float(n[1]), Float(n[2]),
                 Float(n[3]),        Float(n[4]), Float(0), Float(0),    Float(n[7]) };
        Float centre_x = (tile_x + Float(n[5])) * width,
              centre_y = (tile_y + 1 - Float(n[6])) * height;
        Float right = x - centre_x, up = centre_y - y;
        p.x = select(p.is_weft, -up, right);
        p.y = select(p.is_weft, right, up);
        if (m_weave.period > 0) { // along warp and weft, anew for each of their yarns
            auto &by = m_weave.umax_variation;
            Float along_warp = noise(centre_y / m_weave.period, floor(centre_x), 0x7a2b),
                  along_weft = noise(centre_x / m_weave.period, floor(centre_y), 0x51c9);
            p.umax = p.umax + along_warp * select(p.is_weft, by[1][0], by[0][0]) +
                     along_weft * select(p.is_weft, by[1][1], by[0][1]);
        }
        if (m_weave.fineness > 0) { // distributed exponentially, around 1
            double cells = m_weave.fineness;
            Float u = to_unit(hash(floor(x * cells), floor(y * cells), 0x3e85));
            p.brightness = p.brightness * min(-log(max(u, 1e-6)), 10);
        }
        return p;
    }
    Spectrum colour(const SurfaceInteraction &si, const UInt32 &number, const Mask &active) const {
        Spectrum out = m_colours[0].texture->eval(si, active);
        for (size_t i = 1; i < m_colours.size(); ++i)
            out =
                select(number == UInt32(uint32_t(i)), m_colours[i].texture->eval(si, active), out);
        return out;
    }
    // pi f
    Spectrum reflected(const LobeChoice &choice, const SurfaceInteraction &si, const Vector3 &wo,
                       const Mask &active) const {
        Piece piece = piece_at(tiles(si.uv), active);
        Spectrum out(0);
        if (choice.gloss)
            out += colour(si, piece.ks, active) *
                   (highlight(piece, si.wi, wo) * m_normalization * m_ks_scale * Pi);
        if (choice.base)
            out += colour(si, piece.kd, active) * m_kd_scale;
        return out;
    }

    // S: what the fibers of a piece of yarn send from wi to wo, of what falls on it.
    Float highlight(const Piece &p, const Vector3 &wi, const Vector3 &wo) const {
        auto turn = [&](const Vector3 &w) {
            return Vector3(select(p.is_weft, -w.y, w.x), select(p.is_weft, w.x, w.y), w.z);
        };
        Vector3 in = turn(wi), out = turn(wo);
        Float f(0);
        if (m_has_filaments)
            f = filament(p, in, out);
        if (m_has_staples) {
            Float twisted = staple(p, in, out);
            f = m_has_filaments ? select(p.psi == 0, f, twisted) : twisted;
        }
        Mask fits = (p.umax > 0) & (p.umax < Pi / 2) & (p.width * sin(p.umax) < p.length);
        return select(fits, f * scattering(dot(in, out)) * p.brightness / m_weave.highlight_width,
                      Float(0));
    }
    // Fibers run along the yarn: its cross section at some u, where they are at a right angle to h, is lit.
    Float filament(const Piece &p, const Vector3 &wi, const Vector3 &wo) const {
        Vector3 sum = wi + wo, h = normalize(sum);
        Float u = atan2(h.y, h.z), v = p.x * Pi / p.width;
        Vector3 n(sin(v), sin(u) * cos(v), cos(u) * cos(v));
        double kept = 1 - m_weave.ss;
        Float most = p.umax * kept, a = p.width / 2;
        auto [radius, good] = bend(p, min(abs(u), most), most);
        Float g = a * (radius + a * cos(v)) / (norm(sum) * sqrt(sqr(h.y) + sqr(h.z)));
        Float f = g * attenuation(dot(n, wi), dot(n, wo)) * Pi;
        if (m_weave.ss > 0) {
            Float t = clamp((abs(u) - most) / (p.umax * m_weave.ss), 0, 1);
            f = f * (1 - t * t * (3 - 2 * t));
        }
        return select(good & (abs(u) < p.umax) & lit(u / p.umax, 2 * p.y / p.length), f, Float(0));
    }
    // Fibers wind around the yarn: at each u, one place v of the cross section is lit.
    Float staple(const Piece &p, const Vector3 &wi, const Vector3 &wo) const {
        Vector3 sum = wi + wo, h = normalize(sum);
        Float psi = select(p.psi == 0, Float(1), p.psi), u = 2 * p.y / p.length * p.umax,
              c = cos(u), s = sin(u), up = h.y * s + h.z * c;
        Float d = (h.y * c - h.z * s) / (sqrt(sqr(h.x) + sqr(up)) * tan(psi));
        Mask meets = abs(d) < 1;
        Float v = atan2(-up, h.x) + acos(select(meets, d, Float(0)));
        Vector3 n(sin(v), s * cos(v), c * cos(v));
        Float a = p.width / 2, facing = dot(n, h);
        auto [radius, good] = bend(p, u, p.umax);
        Float g = a * (radius + a * cos(v)) /
                  (norm(sum) * select(facing > 0, facing, Float(1)) * abs(sin(psi)));
        Float f = g * attenuation(dot(n, wi), dot(n, wo)) * 2 * p.umax;
        return select(good & meets & (facing > 0) & (abs(v) < Pi / 2) &
                          lit(v * (2 / Pi), 2 * p.x / p.width),
                      f, Float(0));
    }
    // Whether a place is in the highlight, both from -1 to 1: highlights are moved inwards at the ends.
    Mask lit(const Float &highlight, const Float &place) const {
        double half = m_weave.highlight_width;
        return abs(clamp(highlight, half - 1, 1 - half) - place) < half;
    }
    // Radius of curvature of the spine where it is inclined by u: an ellipse, parabola or hyperbola, in one formula. With
    // e = r |r|, r = 1 + kappa (1 + cot umax) and half the spine's length l:
    //     R(u) = l cot(umax) sqrt(1 + e tan(umax)^2) ((1 + tan(u)^2) / (1 + e tan(u)^2))^(3/2)
    // And whether there is such a spine.
    static std::pair<Float, Mask> bend(const Piece &p, const Float &u, const Float &umax) {
        Float t = tan(umax), r = fma(p.kappa, 1 + rcp(t), Float(1)), e = r * abs(r),
              half = (p.length - p.width * sin(umax)) / 2;
        Float t2 = sqr(tan(u)), at_end = fma(e, sqr(t), Float(1)), here = fma(e, t2, Float(1));
        Mask good = (at_end > 0) & (here > 0);
        Float q = (1 + t2) / select(good, here, Float(1));
        return { half / t * safe_sqrt(at_end) * q * sqrt(q), good };
    }
    // Seeliger's law of what a dense layer of scatterers sends back.
    static Float attenuation(const Float &cos_i, const Float &cos_o) {
        Mask good = (cos_i > 0) & (cos_o > 0);
        return select(good, cos_i * cos_o / select(good, cos_i + cos_o, Float(1)) * (InvPi / 4),
                      Float(0));
    }
    // Of one fiber: the same everywhere, and a von Mises lobe around the forward direction.
    Float scattering(const Float &cosine) const {
        double b = m_weave.beta, top = TwoPi * std::cyl_bessel_i(0, b) * std::exp(-b);
        return fma(exp(-b * (1 + cosine)), Float(1 / top), Float(m_weave.alpha));
    }

    // One over the mean reflectance of S, over places and over directions by their cosines.
    double normalization() const {
        const uint32_t n = 1 << 15;
        const double around = 64; // tiles, so that all variations are met
        RadicalInverse points(6);
        UInt64 lane(jit::cast(jit::Type::U64, jit::lane_index(n)));
        auto u = [&](size_t i) { return points.eval(i, lane); };
        Vector3 wi = square_to_cosine_hemisphere({ u(0), u(1) }),
                wo = square_to_cosine_hemisphere({ u(2), u(3) });
        Piece piece = piece_at({ u(4) * around, u(5) * around }, true);
        double sum = 0;
        for (double v : read_floats(select((wi.z > 0) & (wo.z > 0), highlight(piece, wi, wo), 0)))
            sum += v;
        return sum > 0 ? n / (sum * Pi) : 0;
    }

    std::filesystem::path m_file;
    Float m_repeat_u, m_repeat_v, m_kd_scale, m_ks_scale;
    WeavePattern m_weave;
    std::vector<NamedColour> m_colours;
    std::vector<uint32_t> m_kinds_host; // of each yarn: is_weft, kd and ks among the colours, 0
    UInt32 m_pattern, m_kinds;
    Float
        m_numbers; // of each yarn: psi, umax, kappa, width, length, u, v, how bright its highlights are
    Float m_normalization;
    bool m_has_filaments = false, m_has_staples = false;
};

UMBEL_PLUGIN(BSDF, Irawan, "irawan")
} // namespace umbel
