// core/variant.h: what a rendering is computed in: backend, colour, polarization, precision.
//
// Variants are chosen at run time. Each backend has a recording context of its own on each thread: values of
// two variants of one backend may meet.
#pragma once
#include "jit/context.h"
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

enum class Colour { Mono, Rgb, Spectral };

struct Variant {
    std::string name;    // backend[_ad]_colour[_polarized][_double]
    std::string backend; // "llvm", "interp", "cuda", or with a device: "cuda:1"
    bool ad = false;     // derivatives are expected; affects defaults only
    Colour colour = Colour::Rgb;
    bool polarized = false;
    bool double_precision = false;

    jit::Type float_type() const { return double_precision ? jit::Type::F64 : jit::Type::F32; }
    /// Channels of a Spectrum: 1, 3 or 4.
    int channels() const { return colour == Colour::Mono ? 1 : colour == Colour::Rgb ? 3 : 4; }
    /// This thread's context for the variant's backend; made on first use.
    jit::Context &context() const;
};

/// The variant of that name; a UserError lists the possible ones.
const Variant &find_variant(std::string_view name);
/// All of them, in a fixed order.
const std::vector<Variant> &all_variants();

/// The calling thread's variant; llvm_rgb until set.
const Variant &variant();
void set_variant(std::string_view name);
void set_variant(const Variant &v);

/// From now on the calling thread's contexts are those that all threads share that call this. Only one of
/// them may use them at a time: they hold a lock, such as a Python interpreter's.
void share_contexts();

/// Makes a variant the thread's current one while in scope.
class VariantScope {
public:
    explicit VariantScope(const Variant &v);
    ~VariantScope();

private:
    const Variant *m_previous;
    jit::ContextScope m_context;
};

} // namespace umbel
