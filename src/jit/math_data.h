// jit/math_data.h: the polynomials and constants behind jit/math.h.
//
// Each array is a minimax fit (exchange algorithm in 60 digits; low coefficients were rounded first
// and the others fitted again around them), lowest power first. The comment names what it
// approximates and the largest error that it causes in its function, relative to the function's
// value.
#pragma once
#include <cstdint>

namespace umbel::jit::math {

// clang-format off
template <class S> struct Fit;

template <> struct Fit<float> {
    // (sin r - r) / r^3 in r^2, r in [0, pi/4]: 2^-27.9
    static constexpr float Sin[] = {
        -0x1.555544p-3f, 0x1.1106bcp-7f, -0x1.99163ep-13f,
    };
    // (cos r - 1) / r^2 in r^2, r in [0, pi/4]: 2^-33.1
    static constexpr float Cos[] = {
        -0x1p-1f, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0e4p-16f,
    };
    // (tan r - r) / r^3 in r^2, r in [0, pi/4]: 2^-29.1
    static constexpr float Tan[] = {
        0x1.555564p-2f, 0x1.110c98p-3f, 0x1.bb06b4p-5f, 0x1.5afadp-6f, 0x1.6bd6c4p-7f,
        -0x1.035b02p-12f, 0x1.29a1bcp-8f,
    };
    // (asin x - x) / x^3 in x^2, x in [0, 1/2]: 2^-31.7
    static constexpr float Asin[] = {
        0x1.55554cp-3f, 0x1.3338aap-4f, 0x1.6ca7dep-5f, 0x1.04cce8p-5f, 0x1.d58d0ap-7f,
        0x1.349cfp-5f,
    };
    // (atan t - t) / t^3 in t^2, t in [0, 1]: 2^-28.5
    static constexpr float Atan[] = {
        -0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.2420aap-3f, 0x1.c08f7ep-4f, -0x1.581752p-4f,
        0x1.da6a6ep-5f, -0x1.fe1b7ap-6f, 0x1.64eae4p-7f, -0x1.d4ecdap-10f,
    };
    // (e^r - 1 - r) / r^2, r in [-log 2, log 2]: 2^-29.4
    static constexpr float Exp[] = {
        0x1p-1f, 0x1.555568p-3f, 0x1.55558ap-5f, 0x1.1106bep-7f, 0x1.6bec2ep-10f, 0x1.a70258p-13f,
        0x1.b1725cp-16f,
    };
    // (2^r - 1) / r, r in [-1/2, 1/2]: 2^-31.9
    static constexpr float Exp2[] = {
        0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6b06ep-5f, 0x1.3b2a6p-7f, 0x1.5da548p-10f,
        0x1.44101ap-13f, 0x1.e101aap-17f,
    };
    // pow: K = 2 / log 2 in two words
    static constexpr float PowScale[] = { 0x1.715476p1f, 0x1.4ae0cp-25f };
    // pow: (K atanh s - K s) / s^3 in s^2, s = (m - 1) / (m + 1): 2^-36.4
    static constexpr float PowLog[] = {
        0x1.ec709ep-1f, 0x1.2776ep-1f, 0x1.a5d044p-2f, 0x1.5890b6p-2f,
    };
    // pow: K (m + 1) / (4 m) in m - 1, the derivative of K atanh s over m + 1: 2^-7.6
    static constexpr float PowSlope[] = { 0x1.71f71ap0f, -0x1.9095acp-1f, 0x1.5be752p-1f };
    // pow: (2^r - 1) / r, r in [-1/2, 1/2]: 2^-27.5
    static constexpr float PowExp2[] = {
        0x1.62e432p-1f, 0x1.ebfbe6p-3f, 0x1.c6ada6p-5f, 0x1.3b21c6p-7f, 0x1.5fc026p-10f,
        0x1.4bc544p-13f,
    };
    // m^(-1/3), m in [sqrt(1/2), sqrt(2)]: a first guess: 2^-11.9
    static constexpr float Cbrt[] = {
        0x1.bb0fdcp0f, -0x1.4925cp0f, 0x1.6d3af6p-1f, -0x1.44b0ap-3f,
    };
    // erf(x) / x - 1 in x^2, x in [0, 1]: 2^-29.4
    static constexpr float Erf[] = {
        0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f71ap-6f, 0x1.53f224p-8f,
        -0x1.a3515ap-11f, 0x1.4771dap-14f,
    };
    // (log(1 + f) - f + f^2 / 2) / f^3, f in [sqrt(1/2) - 1, sqrt(2) - 1]: 2^-27.3
    static constexpr float Log[] = {
        0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a036p-3f, -0x1.54722p-3f, 0x1.22d5cp-3f,
        -0x1.0d820ep-3f, 0x1.057a46p-3f, -0x1.39173p-4f,
    };
    // log erfc(1 + u), 1 + u in [1, 4]: 2^-26.7
    static constexpr float LogErfc[] = {
        -0x1.d97fcp0f, -0x1.51c9bp1f, -0x1.afabbap-1f, -0x1.547d16p-5f, 0x1.4934ep-7f,
        -0x1.07babep-9f, 0x1.2fa7b4p-12f, -0x1.6c0586p-16f,
    };
    static constexpr float LogErfcEnd = 4;
    // erfinv(x) / x - 1 in w = -log(1 - x^2) in [0, 5]: 2^-27.0
    static constexpr float Erfinv[] = {
        -0x1.d203b8p-4f, 0x1.db2a0cp-3f, 0x1.7a6deep-7f, -0x1.31fb1cp-9f, -0x1.0b125ap-13f,
        0x1.75477ap-15f, 0x1.0caf86p-18f, -0x1.09c6fap-19f, 0x1.db7572p-23f, -0x1.2e981ap-27f,
    };
    static constexpr float ErfinvCentre = 0, ErfinvEnd = 0.9966f, ErfinvTailCentre = 3;
    // erfinv(x) / x in sqrt(w) - 3, w in [5, 16.8]: 2^-25.7
    static constexpr float ErfinvTail[] = {
        0x1.6a9efcp1f, 0x1.006dc2p0f, 0x1.357898p-7f, -0x1.f45218p-8f, 0x1.7539p-8f,
        -0x1.d94496p-9f, 0x1.802a4cp-10f, -0x1.13072ep-15f, -0x1.351e94p-12f, 0x1.a43b7cp-14f,
    };
};

template <> struct Fit<double> {
    // (sin r - r) / r^3 in r^2, r in [0, pi/4]: 2^-57.8
    static constexpr double Sin[] = {
        -0x1.5555555555547p-3, 0x1.111111110f579p-7, -0x1.a01a019bade68p-13, 0x1.71de351e98b85p-19,
        -0x1.ae5e1e9f780b3p-26, 0x1.5d7dc648b2b7dp-33,
    };
    // (cos r - 1) / r^2 in r^2, r in [0, pi/4]: 2^-63.9
    static constexpr double Cos[] = {
        -0x1p-1, 0x1.555555555554ap-5, -0x1.6c16c16c14dc4p-10, 0x1.a01a019c515a8p-16,
        -0x1.27e4f7c23587ep-22, 0x1.1ee9b9e2ad284p-29, -0x1.8f941f9413e58p-37,
    };
    // (tan r - r) / r^3 in r^2, r in [0, pi/4]: 2^-59.2
    static constexpr double Tan[] = {
        0x1.5555555555562p-2, 0x1.11111111100fdp-3, 0x1.ba1ba1baffed8p-5, 0x1.664f484f86231p-6,
        0x1.226e3c33098d2p-7, 0x1.d6d2a20f07485p-9, 0x1.7db55d0e2fa5bp-10, 0x1.3496afc8bc137p-11,
        0x1.009e573a82701p-12, 0x1.5417dcdabf2a7p-14, 0x1.2ca110cd5db02p-14,
        -0x1.05c5a7728fc6cp-15, 0x1.be9a94f1a8fc8p-15, -0x1.bd20259ea7dd7p-16,
        0x1.597fc71b89207p-17,
    };
    // (asin x - x) / x^3 in x^2, x in [0, 1/2]: 2^-59.8
    static constexpr double Asin[] = {
        0x1.5555555555578p-3, 0x1.333333332df17p-4, 0x1.6db6db722b51dp-5, 0x1.f1c71a8ba4fd1p-6,
        0x1.6e8bdfe599f06p-6, 0x1.1c49de141966bp-6, 0x1.ca2142861175dp-7, 0x1.75779bb68dbf4p-7,
        0x1.618a68fdf6b73p-7, 0x1.e1600a22ce6fcp-9, 0x1.650091b267b43p-6, -0x1.59f4842c0df37p-6,
        0x1.0be3ca0fde5a1p-5,
    };
    // (atan t - t) / t^3 in t^2, t in [0, 1]: 2^-57.6
    static constexpr double Atan[] = {
        -0x1.555555555554dp-2, 0x1.9999999998c65p-3, -0x1.2492492457699p-3, 0x1.c71c71b650c7bp-4,
        -0x1.745d15d2c9baep-4, 0x1.3b139bec1bdeap-4, -0x1.11103358c862cp-4, 0x1.e1d492703f43dp-5,
        -0x1.aeda8634efdeep-5, 0x1.84b50a510c929p-5, -0x1.5f262c45f49ccp-5, 0x1.3908d4a56a95dp-5,
        -0x1.0c9bf3d36d3c5p-5, 0x1.ac8e04ca3a983p-6, -0x1.31118c75f27fcp-6, 0x1.7303c832cf9fap-7,
        -0x1.70041eeefa62dp-8, 0x1.1a341e5b34247p-9, -0x1.37183ccf5cb41p-11, 0x1.b4117331293eep-14,
        -0x1.22af14e85afdp-17,
    };
    // (e^r - 1 - r) / r^2, r in [-log 2, log 2]: 2^-60.5
    static constexpr double Exp[] = {
        0x1p-1, 0x1.555555555554ap-3, 0x1.555555555553p-5, 0x1.1111111112584p-7,
        0x1.6c16c16c1e056p-10, 0x1.a01a019cce511p-13, 0x1.a01a01906ead1p-16, 0x1.71de3e6601381p-19,
        0x1.27e50ad686b7cp-22, 0x1.ae5f23bb41ff4p-26, 0x1.1edf3d8abd086p-29, 0x1.6477ee3d6cfb8p-33,
        0x1.9ea912fbcb833p-37,
    };
    // (2^r - 1) / r, r in [-1/2, 1/2]: 2^-57.7
    static constexpr double Exp2[] = {
        0x1.62e42fefa39efp-1, 0x1.ebfbdff82c574p-3, 0x1.c6b08d704a1fbp-5, 0x1.3b2ab6fbaade2p-7,
        0x1.5d87fe786a9e3p-10, 0x1.430912dcc1784p-13, 0x1.ffcbfd7c5c6f8p-17, 0x1.62c092148f766p-20,
        0x1.b522c3cb9c838p-24, 0x1.e335433e958fp-28, 0x1.ed194e903ad81p-32, 0x1.f964bcf9ff3c5p-35,
    };
    // m^(-1/3), m in [sqrt(1/2), sqrt(2)]: a first guess: 2^-14.7
    static constexpr double Cbrt[] = {
        0x1.dfe07f393649ep0, -0x1.dca0c40c436ecp0, 0x1.8fb1145c0c20cp0, -0x1.679debd358cfbp-1,
        0x1.06e4ea9b293acp-3,
    };
    // erf(x) / x - 1 in x^2, x in [0, 1]: 2^-56.3
    static constexpr double Erf[] = {
        0x1.06eba8214db69p-3, -0x1.812746b037a25p-2, 0x1.ce2f21a0458d7p-4, -0x1.b82ce31354c31p-6,
        0x1.565bcd2c5ffc7p-8, -0x1.c02db9325786cp-11, 0x1.f9a3b9368950dp-14,
        -0x1.f4dceec20e9a6p-17, 0x1.ba68ee69631d8p-20, -0x1.638f5d2e9d1cfp-23,
        0x1.131867ae0f545p-26, -0x1.c4834697c065ap-30, 0x1.3b523355b2846p-33,
    };
    // (2 atanh s - 2 s) / s^3 in s^2, s = f / (2 + f): 2^-59.5
    static constexpr double Log[] = {
        0x1.5555555555592p-1, 0x1.999999997ff04p-2, 0x1.24924941e35b9p-2, 0x1.c71c521217f77p-3,
        0x1.74663d7ce1b64p-3, 0x1.39a1d7db89082p-3, 0x1.2f047c4a83fc4p-3,
    };
    // log erfc(1 + u), 1 + u in [1, 6]: 2^-58.7
    static constexpr double LogErfc[] = {
        -0x1.d97fbf27aa2a1p0, -0x1.51c9b0006c244p1, -0x1.afabc11a28a79p-1, -0x1.5477f09cf2b12p-5,
        0x1.48c9d413832e5p-7, -0x1.033f69c34648p-9, 0x1.f1b49b1154ef1p-13, 0x1.b8c6029a2f92cp-16,
        -0x1.c77527c8ab72p-16, 0x1.41d5c8bff98dap-17, -0x1.11dff3b8aa85bp-19,
        0x1.10e3f649cc8e4p-23, 0x1.cc82a28ce739cp-24, -0x1.e4ad21182f317p-25,
        0x1.190f8ab45b002p-26, -0x1.b80ff0d5fa4d9p-29, 0x1.cec0b13c6ffadp-32,
        -0x1.2896943888f76p-35, 0x1.5e88e43406591p-40,
    };
    static constexpr double LogErfcEnd = 6;
    // erfinv(x) / x - 1 in w - 3, w = -log(1 - x^2) in [0, 6.25]: 2^-54.6
    static constexpr double Erfinv[] = {
        0x1.3f40e5dae5b77p-1, 0x1.eedbebdce73ecp-3, -0x1.780def1d3f577p-8, -0x1.b6666b152ef97p-11,
        0x1.9912c04a5cd01p-13, -0x1.aab13d1982ffp-17, -0x1.d539ca21f7fcp-20, 0x1.e32b0cd73f07p-22,
        -0x1.96f81c6e0b036p-26, -0x1.77b38bddc6052p-28, 0x1.3155597910698p-30,
        -0x1.1470e795971adp-35, -0x1.30d76a9591864p-36, 0x1.7bef0b1c5833cp-39,
        0x1.b9b932cbc77edp-48, -0x1.ddd208140975bp-45, 0x1.c9535f5e6a4efp-48,
        0x1.4ceb9e3057708p-52, -0x1.78318fb382857p-53, 0x1.b0fa0d279f70cp-57,
        0x1.3122b77af6589p-59, -0x1.9316f420be37bp-62, -0x1.94ca4d4de265ep-67,
        0x1.fe218cb2a3992p-69,
    };
    static constexpr double ErfinvCentre = 3, ErfinvEnd = 0.999, ErfinvTailCentre = 3.25;
    // erfinv(x) / x in sqrt(w) - 3.25, w in [6.25, 16]: 2^-53.1
    static constexpr double ErfinvTail[] = {
        0x1.8abcc380d5a48p1, 0x1.0158a6d641d56p0, 0x1.5ffcfe5b7170fp-8, -0x1.ebadabba1a49cp-9,
        0x1.468eeca725101p-9, -0x1.ba9240d2b23f4p-10, 0x1.f3cc551f79438p-11,
        -0x1.7448be119ee2fp-12, 0x1.932d774cee5e4p-16, 0x1.1e6ae38a86fb8p-14,
        -0x1.8cf0bf6db6b2ap-15, 0x1.a23c294c01287p-17, 0x1.88af36909d308p-19,
        -0x1.0b5b22be3c10ep-18, 0x1.924fd86caf261p-20, -0x1.064702e7816b7p-25,
        -0x1.2361d7cedaa7ap-22, 0x1.2027a32f987fap-23, 0x1.871a2264b7fbap-31,
        -0x1.17a918cb71bc3p-26,
    };
    // erfinv(x) / x in sqrt(w) - 5, w in [16, 36.1]: 2^-55.5
    static constexpr double ErfinvFar[] = {
        0x1.3664ddd1ad7fbp2, 0x1.02a30d1fba10fp0, -0x1.22ea5df23f04bp-13, -0x1.c2f36aa303273p-13,
        0x1.3ebf4f12a8ffep-14, -0x1.4a348f6b63d94p-16, 0x1.2fbceeb079758p-18,
        -0x1.0a909832fc722p-20, 0x1.ebec78dbf4873p-23, -0x1.221f25b76cd7dp-24,
        0x1.f1b54e52b0aa6p-26, -0x1.06523c634e8fdp-26, 0x1.0f80151e45c41p-27,
        -0x1.dae5ba8066987p-29, 0x1.5455a4e703bcfp-30, -0x1.ebaea62806a09p-32,
        0x1.e517091672675p-34, 0x1.8dec6af17223bp-35, -0x1.016fe075cd35ap-35,
    };
    // (atanh s - s - s^3 / 3) / s^5 in s^2: 2^-73.5
    static constexpr double PowLog[] = {
        0x1.9999999999996p-3, 0x1.2492492492f51p-3, 0x1.c71c71c5968f3p-4, 0x1.745d18295753dp-4,
        0x1.3b1364c8d520cp-4, 0x1.11206f49d6255p-4, 0x1.de3d6a82242e8p-5, 0x1.eac5fe56629b7p-5,
    };
    // lgamma(2 + d) / d, d in [-0.59, sqrt(2) - 1]: 2^-55.3
    static constexpr double Lgamma[] = {
        0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa9p-2, -0x1.13e001a5574e9p-4, 0x1.51322ac7d5c1ep-6,
        -0x1.e404fc22256a8p-8, 0x1.7add6eb2e605cp-9, -0x1.38ac5bafd4975p-10, 0x1.0b36ad58710d8p-11,
        -0x1.d3fdb536cc901p-13, 0x1.a128734567271p-14, -0x1.78c543d9828cep-15,
        0x1.580ca207d37e5p-16, -0x1.40445be0ae84dp-17, 0x1.20f8cdb62ab3ep-18,
        -0x1.9252ee376e6a3p-20, 0x1.b34014e23dd0ap-20, -0x1.e9403413f41e7p-20,
        -0x1.45a0bce6ee448p-19, 0x1.688c6e64456c9p-21, 0x1.0afb2225dd86ep-18,
        0x1.13cb76e084987p-19,
    };
    // x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1 / x^2, x >= 8: 2^-67.8
    static constexpr double Stirling[] = {
        0x1.5555555555555p-4, -0x1.6c16c16c1085bp-9, 0x1.a01a015ccf975p-11, -0x1.381330ecdcc21p-11,
        0x1.b9205b26f259cp-11, -0x1.ee5e05a4985b6p-10, 0x1.462a4082cb4ap-8,
    };
};

// 64 zero bits, then the binary digits of 2 / pi.
inline constexpr uint32_t TwoOverPi[] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
    0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
    0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
    0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
    0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
    0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046,
};
// clang-format on

} // namespace umbel::jit::math
