// tests/cuda_machine/instructions.cpp: what instructions do to a thread's cells.
#include "machine.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace cuda_machine {

namespace {

using half = _Float16;
template <class T> T get(uint64_t v) {
    T out;
    std::memcpy(&out, &v, sizeof(T));
    return out;
}
template <class T> uint64_t bits_of(T v) {
    uint64_t out = 0;
    std::memcpy(&out, &v, sizeof(T));
    return out;
}
template <class T> uint64_t cell(T v) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T> && sizeof(T) < 4)
        return bits_of(int32_t(v)); // loads extend to the register's width
    return bits_of(v);
}

template <class T> constexpr bool is_float = !std::is_integral_v<T>;
template <class T> using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// ---- Arithmetic

struct Add {
    template <class T> static T of(T a, T b) {
        if constexpr (is_float<T>)
            return a + b;
        else
            return T(Unsigned<T>(a) + Unsigned<T>(b));
    }
};
struct Sub {
    template <class T> static T of(T a, T b) {
        if constexpr (is_float<T>)
            return a - b;
        else
            return T(Unsigned<T>(a) - Unsigned<T>(b));
    }
};
struct Mul {
    template <class T> static T of(T a, T b) {
        if constexpr (is_float<T>)
            return a * b;
        else
            return T(Unsigned<T>(a) * Unsigned<T>(b));
    }
};
struct MulHi {
    template <class T> static T of(T a, T b) {
        if constexpr (std::is_same_v<T, int64_t>)
            return T(((__int128)a * b) >> 64);
        else if constexpr (std::is_same_v<T, uint64_t>)
            return T(((unsigned __int128)a * b) >> 64);
        else if constexpr (std::is_same_v<T, uint32_t>)
            return T((uint64_t(a) * uint64_t(b)) >> 32);
        else
            return T((int64_t(a) * int64_t(b)) >> 32);
    }
};
struct Div {
    template <class T> static T of(T a, T b) {
        if constexpr (is_float<T>)
            return a / b;
        else
            return b == 0                              ? T(~T(0))
                   : std::is_signed_v<T> && b == T(-1) ? Sub::of(T(0), a)
                                                       : T(a / b);
    }
};
struct Min {
    template <class T> static T of(T a, T b) { return b < a ? b : a; }
};
struct Max {
    template <class T> static T of(T a, T b) { return a < b ? b : a; }
};
struct And {
    template <class T> static T of(T a, T b) { return a & b; }
};
struct Or {
    template <class T> static T of(T a, T b) { return a | b; }
};
struct Xor {
    template <class T> static T of(T a, T b) { return a ^ b; }
};
struct Eq {
    template <class T> static bool of(T a, T b) { return a == b; }
};
struct Ne { // unordered, for floats
    template <class T> static bool of(T a, T b) { return !(a == b); }
};
struct Lt {
    template <class T> static bool of(T a, T b) { return a < b; }
};
struct Le {
    template <class T> static bool of(T a, T b) { return a <= b; }
};
struct Gt {
    template <class T> static bool of(T a, T b) { return a > b; }
};
struct Ge {
    template <class T> static bool of(T a, T b) { return a >= b; }
};
struct Neg {
    template <class T> static T of(T a) { return Sub::of(T(0), a); }
};
struct Abs { // at least 0, as NVIDIA's assembler takes it to be, also of the least integer
    template <class T> static T of(T a) {
        return a == std::numeric_limits<T>::min() ? std::numeric_limits<T>::max()
               : a < 0                            ? Neg::of(a)
                                                  : a;
    }
};
struct FlipSign {
    static uint64_t of(uint64_t a) { return a ^ 1ull << 63; }
};
struct ClearSign {
    static uint64_t of(uint64_t a) { return a & ~(1ull << 63); }
};
struct Not {
    template <class T> static T of(T a) { return ~a; }
};
struct Sqrt {
    template <class T> static T of(T a) { return std::sqrt(a); }
};
struct Rcp {
    template <class T> static T of(T a) { return T(1) / a; }
};
struct Rsqrt {
    template <class T> static T of(T a) { return T(1) / std::sqrt(a); }
};
struct Fma {
    template <class T> static T of(T a, T b, T c) {
        if constexpr (is_float<T>)
            return std::fma(a, b, c);
        else
            return Add::of(Mul::of(a, b), c);
    }
};

template <class O, class T> void unary(uint64_t *r, const Ins &i) {
    r[i.d[0]] = bits_of(O::of(get<T>(r[i.s[0]])));
}
template <class O, class T> void binary(uint64_t *r, const Ins &i) {
    r[i.d[0]] = bits_of(O::of(get<T>(r[i.s[0]]), get<T>(r[i.s[1]])));
}
template <class O, class T> void ternary(uint64_t *r, const Ins &i) {
    r[i.d[0]] = bits_of(O::of(get<T>(r[i.s[0]]), get<T>(r[i.s[1]]), get<T>(r[i.s[2]])));
}
template <class T> void select(uint64_t *r, const Ins &i) {
    r[i.d[0]] = bits_of(get<T>(r[r[i.s[2]] ? i.s[0] : i.s[1]]));
}
template <class T> void move(uint64_t *r, const Ins &i) { r[i.d[0]] = bits_of(get<T>(r[i.s[0]])); }
void mad_wide(uint64_t *r, const Ins &i) {
    r[i.d[0]] = uint64_t(uint32_t(r[i.s[0]])) * uint32_t(r[i.s[1]]) + r[i.s[2]];
}
template <class T> void shift_left(uint64_t *r, const Ins &i) {
    uint32_t n = uint32_t(r[i.s[1]]);
    r[i.d[0]] = n >= 8 * sizeof(T) ? 0 : bits_of(T(get<T>(r[i.s[0]]) << n));
}
template <class T> void shift_right(uint64_t *r, const Ins &i) {
    uint32_t n = std::min(uint32_t(r[i.s[1]]), uint32_t(8 * sizeof(T)));
    T a = get<T>(r[i.s[0]]);
    r[i.d[0]] = bits_of(n == 8 * sizeof(T) ? T(a < 0 ? -1 : 0) : T(a >> n));
}
void funnel_left(uint64_t *r, const Ins &i) {
    uint64_t both = r[i.s[1]] << 32 | uint32_t(r[i.s[0]]);
    r[i.d[0]] = uint32_t(both << (r[i.s[2]] & 31) >> 32);
}
void funnel_right(uint64_t *r, const Ins &i) {
    uint64_t both = r[i.s[1]] << 32 | uint32_t(r[i.s[0]]);
    r[i.d[0]] = uint32_t(both >> (r[i.s[2]] & 31));
}
void extract(uint64_t *r, const Ins &i) { // bfe.s32
    uint32_t from = uint32_t(r[i.s[1]]), n = uint32_t(r[i.s[2]]);
    r[i.d[0]] = uint32_t(int32_t(uint32_t(r[i.s[0]]) << (32 - n - from)) >> (32 - n));
}
struct Popc {
    template <class T> static uint32_t of(T a) { return uint32_t(std::popcount(a)); }
};
struct Clz {
    template <class T> static uint32_t of(T a) { return uint32_t(std::countl_zero(a)); }
};
struct Reverse {
    template <class T> static T of(T a) {
        T out = 0;
        for (unsigned k = 0; k < 8 * sizeof(T); ++k)
            out |= ((a >> k) & 1) << (8 * sizeof(T) - 1 - k);
        return out;
    }
};

// ---- Conversions

enum Rounding { None, Nearest, Toward0, ToEven, Down, Up };

template <class F> F rounded(F a, Rounding mode) {
    return mode == Toward0  ? std::trunc(a)
           : mode == Down   ? std::floor(a)
           : mode == Up     ? std::ceil(a)
           : mode == ToEven ? std::nearbyint(a)
                            : a;
}

template <class D, class S, Rounding mode> void convert(uint64_t *r, const Ins &i) {
    S a = get<S>(r[i.s[0]]);
    D out;
    if constexpr (is_float<S> && std::is_same_v<D, S>) {
        out = D(rounded(a, mode));
    } else if constexpr (is_float<S> && !is_float<D>) {
        S v = rounded(a, mode);
        if (!(v == v))
            out = sizeof(D) == 8 || sizeof(S) == 8 ? D(uint64_t(1) << (8 * sizeof(D) - 1)) : D(0);
        else if (double(v) >= std::ldexp(1.0, std::numeric_limits<D>::digits))
            out = std::numeric_limits<D>::max();
        else if (double(v) < double(std::numeric_limits<D>::min()))
            out = std::numeric_limits<D>::min();
        else
            out = D(v);
    } else {
        out = D(a);
    }
    r[i.d[0]] = cell(out);
}

// ---- Memory

template <class T> void load(uint64_t *r, const Ins &i, int n) {
    auto *from = reinterpret_cast<const char *>(r[i.address] + i.offset);
    for (int k = 0; k < n; ++k) {
        T v;
        std::memcpy(&v, from + k * sizeof(T), sizeof(T));
        r[i.d[k]] = cell(v);
    }
}
template <class T, int n> void load_n(uint64_t *r, const Ins &i) { load<T>(r, i, n); }
template <class T, int n> void store_n(uint64_t *r, const Ins &i) {
    auto *to = reinterpret_cast<char *>(r[i.address] + i.offset);
    for (int k = 0; k < n; ++k) {
        T v = get<T>(r[i.s[k]]);
        std::memcpy(to + k * sizeof(T), &v, sizeof(T));
    }
}
template <class O, class T> void atomic(uint64_t *r, const Ins &i) {
    auto *at = reinterpret_cast<T *>(r[i.address] + i.offset);
    T old = *at;
    *at = T(O::of(old, get<T>(r[i.s[0]])));
    r[i.d[0]] = bits_of(old);
}
template <class T> void exchange(uint64_t *r, const Ins &i) {
    auto *at = reinterpret_cast<T *>(r[i.address] + i.offset);
    T old = *at;
    *at = get<T>(r[i.s[0]]);
    r[i.d[0]] = bits_of(old);
}
template <class T> void swap(uint64_t *r, const Ins &i) {
    auto *at = reinterpret_cast<T *>(r[i.address] + i.offset);
    T old = *at;
    if (old == get<T>(r[i.s[0]]))
        *at = get<T>(r[i.s[1]]);
    r[i.d[0]] = bits_of(old);
}

// ---- Warps of one thread

void active_mask(uint64_t *r, const Ins &i) { r[i.d[0]] = 1; }
void match_any(uint64_t *r, const Ins &i) { r[i.d[0]] = 1; }
void ballot(uint64_t *r, const Ins &i) { r[i.d[0]] = r[i.s[0]] ? 1 : 0; }
void shuffle(uint64_t *r, const Ins &i) { r[i.d[0]] = uint32_t(r[i.s[0]]); }

// ---- Warps of many: lanes that name each other in their masks, and must all be there

uint32_t lanes_here(uint64_t *const *lanes) {
    uint32_t all = 0;
    for (uint32_t k = 0; k < WarpLanes; ++k)
        all |= uint32_t(lanes[k] != nullptr) << k;
    return all;
}

// Calls f(lane's cells, number, its mask), where the mask is operand `at`.
template <class F> void for_members(uint64_t *const *lanes, const Ins &i, int at, F &&f) {
    uint32_t here = lanes_here(lanes);
    for (uint32_t k = 0; k < WarpLanes; ++k) {
        if (!lanes[k])
            continue;
        uint32_t mask = uint32_t(lanes[k][i.s[at]]);
        bool fits = (mask >> k & 1) && !(mask & ~here);
        for (uint32_t j = 0; fits && j < WarpLanes; ++j)
            fits = !(mask >> j & 1) || uint32_t(lanes[j][i.s[at]]) == mask;
        if (!fits) {
            std::fprintf(stderr, "lane %u waits for lanes %08x, of which %08x are there\n", k, mask,
                         here);
            std::abort(); // a GPU would wait for ever
        }
        f(k, mask);
    }
}

void active_masks(uint64_t *const *lanes, const Ins &i) {
    uint32_t here = lanes_here(lanes);
    for (uint32_t k = 0; k < WarpLanes; ++k)
        if (lanes[k])
            lanes[k][i.d[0]] = here;
}

// Results come last: operands may be the same registers.
struct Results {
    uint64_t of[WarpLanes] = {};
    void put(uint64_t *const *lanes, const Ins &i) const {
        for (uint32_t k = 0; k < WarpLanes; ++k)
            if (lanes[k])
                lanes[k][i.d[0]] = of[k];
    }
};

template <class T> void match_all_lanes(uint64_t *const *lanes, const Ins &i) {
    Results r;
    for_members(lanes, i, 1, [&](uint32_t k, uint32_t mask) {
        for (uint32_t j = 0; j < WarpLanes; ++j)
            if (mask >> j & 1 && T(lanes[j][i.s[0]]) == T(lanes[k][i.s[0]]))
                r.of[k] |= uint64_t(1) << j;
    });
    r.put(lanes, i);
}

void ballots(uint64_t *const *lanes, const Ins &i) {
    Results r;
    for_members(lanes, i, 1, [&](uint32_t k, uint32_t mask) {
        for (uint32_t j = 0; j < WarpLanes; ++j)
            if (mask >> j & 1 && lanes[j][i.s[0]])
                r.of[k] |= uint64_t(1) << j;
    });
    r.put(lanes, i);
}

void shuffles(uint64_t *const *lanes, const Ins &i) {
    constexpr uint64_t Undefined = 0xbadbadba; // of lanes that are not in the mask
    Results r;
    for_members(lanes, i, 3, [&](uint32_t k, uint32_t mask) {
        uint32_t from = uint32_t(lanes[k][i.s[1]]) % WarpLanes;
        r.of[k] = mask >> from & 1 ? uint32_t(lanes[from][i.s[0]]) : Undefined;
    });
    r.put(lanes, i);
}

// ---- By name

struct Names {
    std::map<std::string, Execute> of;

    template <class O, class T> void two(const std::string &name, const char *type) {
        of[name + "." + type] = binary<O, T>;
    }
    template <class O> void integers(const std::string &name) {
        two<O, int32_t>(name, "s32");
        two<O, uint32_t>(name, "u32");
        two<O, int64_t>(name, "s64");
        two<O, uint64_t>(name, "u64");
    }
    template <class O> void floats(const std::string &name) {
        two<O, float>(name, "f32");
        two<O, double>(name, "f64");
    }
    template <class O> void bits(const std::string &name) {
        two<O, uint8_t>(name, "pred");
        two<O, uint16_t>(name, "b16");
        two<O, uint32_t>(name, "b32");
        two<O, uint64_t>(name, "b64");
    }
    template <class O> void compare(const std::string &name) {
        integers<O>(name);
        floats<O>(name);
        two<O, uint32_t>(name, "b32");
        two<O, uint64_t>(name, "b64");
    }
    template <class T> void memory(const char *type) {
        for (const char *space : { "param", "const", "global", "global.nc", "local", "shared",
                                   "relaxed.gpu.global", "volatile.global" }) {
            std::string ld = std::string("ld.") + space + ".",
                        st = std::string("st.") + space + ".";
            of[ld + type] = load_n<T, 1>;
            of[ld + "v2." + type] = load_n<T, 2>;
            of[ld + "v4." + type] = load_n<T, 4>;
            of[st + type] = store_n<T, 1>;
            of[st + "v2." + type] = store_n<T, 2>;
            of[st + "v4." + type] = store_n<T, 4>;
        }
    }
    template <class O, class T> void atomics(const std::string &name) {
        for (const char *kind : { "red", "atom" })
            of[std::string(kind) + ".global." + name] = atomic<O, T>;
    }
    template <class D, class S> void casts(const char *d, const char *s) {
        auto name = [&](const char *mode) { return std::string("cvt.") + mode + d + "." + s; };
        of[name("")] = convert<D, S, None>;
        of[name("rn.")] = convert<D, S, Nearest>;
        if constexpr (is_float<S>) {
            of[name("rzi.")] = convert<D, S, Toward0>;
            of[name("rni.")] = convert<D, S, ToEven>;
            of[name("rmi.")] = convert<D, S, Down>;
            of[name("rpi.")] = convert<D, S, Up>;
        }
    }
    template <class S> void casts_from(const char *s) {
        casts<float, S>("f32", s);
        casts<double, S>("f64", s);
        casts<int32_t, S>("s32", s);
        casts<uint32_t, S>("u32", s);
        casts<int64_t, S>("s64", s);
        casts<uint64_t, S>("u64", s);
        if constexpr (!is_float<S>)
            casts<uint16_t, S>("u16", s);
        if constexpr (std::is_same_v<S, float> || std::is_same_v<S, double>)
            casts<half, S>("f16", s);
    }

    Names() {
        integers<Add>("add"), integers<Sub>("sub"), integers<Mul>("mul.lo");
        integers<MulHi>("mul.hi"), integers<Div>("div"), integers<Min>("min"), integers<Max>("max");
        floats<Add>("add.rn"), floats<Sub>("sub.rn"), floats<Mul>("mul.rn"), floats<Div>("div.rn");
        bits<And>("and"), bits<Or>("or"), bits<Xor>("xor");
        compare<Eq>("setp.eq"), compare<Ne>("setp.ne"), compare<Ne>("setp.neu");
        compare<Lt>("setp.lt"), compare<Le>("setp.le"), compare<Gt>("setp.gt");
        compare<Ge>("setp.ge");
        of["neg.s32"] = unary<Neg, int32_t>, of["neg.s64"] = unary<Neg, int64_t>;
        of["neg.u32"] = unary<Neg, uint32_t>, of["neg.u64"] = unary<Neg, uint64_t>;
        of["abs.s32"] = unary<Abs, int32_t>, of["abs.s64"] = unary<Abs, int64_t>;
        of["neg.f64"] = unary<FlipSign, uint64_t>, of["abs.f64"] = unary<ClearSign, uint64_t>;
        of["not.b32"] = unary<Not, uint32_t>, of["not.b64"] = unary<Not, uint64_t>;
        of["not.pred"] = [](uint64_t *r, const Ins &i) { r[i.d[0]] = !r[i.s[0]]; };
        of["sqrt.rn.f32"] = unary<Sqrt, float>, of["sqrt.rn.f64"] = unary<Sqrt, double>;
        of["rcp.rn.f32"] = unary<Rcp, float>, of["rcp.rn.f64"] = unary<Rcp, double>;
        // Instructions that may be less exact are not, here
        of["add.f32"] = binary<Add, float>, of["sub.f32"] = binary<Sub, float>;
        of["mul.f32"] = binary<Mul, float>, of["div.full.f32"] = binary<Div, float>;
        of["rcp.approx.f32"] = unary<Rcp, float>, of["sqrt.approx.f32"] = unary<Sqrt, float>;
        of["rsqrt.approx.f32"] = unary<Rsqrt, float>;
        of["fma.rn.f32"] = ternary<Fma, float>, of["fma.rn.f64"] = ternary<Fma, double>;
        of["mad.lo.u32"] = of["mad.lo.s32"] = ternary<Fma, uint32_t>;
        of["mad.lo.u64"] = of["mad.lo.s64"] = ternary<Fma, uint64_t>;
        of["mad.wide.u32"] = mad_wide;
        of["selp.b16"] = select<uint16_t>, of["selp.b32"] = select<uint32_t>;
        of["selp.b64"] = select<uint64_t>;
        of["mov.pred"] = move<uint8_t>, of["mov.b16"] = move<uint16_t>;
        of["mov.b32"] = of["mov.u32"] = move<uint32_t>;
        of["mov.b64"] = of["mov.u64"] = move<uint64_t>;
        of["shl.b32"] = shift_left<uint32_t>, of["shl.b64"] = shift_left<uint64_t>;
        of["shr.u32"] = shift_right<uint32_t>, of["shr.s32"] = shift_right<int32_t>;
        of["shr.u64"] = shift_right<uint64_t>, of["shr.s64"] = shift_right<int64_t>;
        of["shf.l.wrap.b32"] = funnel_left, of["shf.r.wrap.b32"] = funnel_right;
        of["bfe.s32"] = extract;
        of["popc.b32"] = unary<Popc, uint32_t>, of["popc.b64"] = unary<Popc, uint64_t>;
        of["clz.b32"] = unary<Clz, uint32_t>, of["clz.b64"] = unary<Clz, uint64_t>;
        of["brev.b32"] = unary<Reverse, uint32_t>, of["brev.b64"] = unary<Reverse, uint64_t>;

        memory<uint8_t>("u8"), memory<int8_t>("s8"), memory<uint16_t>("u16");
        memory<int16_t>("s16"), memory<uint16_t>("b16"), memory<uint32_t>("b32");
        memory<uint32_t>("u32"), memory<uint64_t>("b64"), memory<uint64_t>("u64");
        atomics<Add, uint32_t>("add.u32"), atomics<Add, uint64_t>("add.u64");
        atomics<Add, float>("add.f32"), atomics<Add, double>("add.f64");
        atomics<Min, uint32_t>("min.u32"), atomics<Min, int32_t>("min.s32");
        atomics<Min, uint64_t>("min.u64"), atomics<Min, int64_t>("min.s64");
        atomics<Max, uint32_t>("max.u32"), atomics<Max, int32_t>("max.s32");
        atomics<Max, uint64_t>("max.u64"), atomics<Max, int64_t>("max.s64");
        atomics<And, uint32_t>("and.b32"), atomics<And, uint64_t>("and.b64");
        atomics<Or, uint32_t>("or.b32"), atomics<Or, uint64_t>("or.b64");
        of["atom.global.cas.b32"] = swap<uint32_t>, of["atom.global.cas.b64"] = swap<uint64_t>;
        of["atom.global.exch.b32"] = exchange<uint32_t>;
        of["atom.global.exch.b64"] = exchange<uint64_t>;

        casts_from<float>("f32"), casts_from<double>("f64"), casts_from<int32_t>("s32");
        casts_from<uint32_t>("u32"), casts_from<int64_t>("s64"), casts_from<uint64_t>("u64");
        casts_from<uint16_t>("u16");
        casts<float, half>("f32", "f16");

        of["activemask.b32"] = active_mask;
        of["match.any.sync.b32"] = of["match.any.sync.b64"] = match_any;
        of["vote.sync.ballot.b32"] = ballot;
        of["shfl.sync.idx.b32"] = of["shfl.sync.bfly.b32"] = of["shfl.sync.down.b32"] = shuffle;
    }
};

} // namespace

Execute find_instruction(const std::string &opcode) {
    static const Names names;
    auto it = names.of.find(opcode);
    return it == names.of.end() ? nullptr : it->second;
}

ExecuteTogether find_instruction_of_warps(const std::string &opcode) {
    return opcode == "activemask.b32"         ? active_masks
           : opcode == "match.any.sync.b32"   ? match_all_lanes<uint32_t>
           : opcode == "match.any.sync.b64"   ? match_all_lanes<uint64_t>
           : opcode == "vote.sync.ballot.b32" ? ballots
           : opcode == "shfl.sync.idx.b32"    ? shuffles
                                              : nullptr;
}

} // namespace cuda_machine
