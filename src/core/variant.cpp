// core/variant.cpp: the list of variants and the current one.
#include "core/variant.h"
#include <map>
#include <memory>

namespace umbel {

namespace {

std::vector<Variant> make_variants() {
    std::vector<Variant> out;
    const char *colours[] = { "mono", "rgb", "spectral" };
    for (const char *backend : { "llvm", "interp" })
        for (bool ad : { false, true })
            for (int c = 0; c < 3; ++c)
                for (bool polarized : { false, true })
                    for (bool dbl : { false, true })
                        out.push_back({ .name = fmt::format(
                                            "{}{}_{}{}{}", backend, ad ? "_ad" : "", colours[c],
                                            polarized ? "_polarized" : "", dbl ? "_double" : ""),
                                        .backend = backend,
                                        .ad = ad,
                                        .colour = Colour(c),
                                        .polarized = polarized,
                                        .double_precision = dbl });
    return out;
}

thread_local const Variant *t_variant = nullptr;
// Contexts outlive everything that the thread makes in them.
thread_local std::map<const Variant *, std::unique_ptr<jit::Context>> t_contexts;

} // namespace

const std::vector<Variant> &all_variants() {
    static const std::vector<Variant> variants = make_variants();
    return variants;
}

const Variant &find_variant(std::string_view name) {
    for (const Variant &v : all_variants())
        if (v.name == name)
            return v;
    fail("unknown variant \"{}\"; a name is backend[_ad]_colour[_polarized][_double] with backend "
         "llvm or "
         "interp and colour mono, rgb or spectral, such as llvm_rgb or llvm_ad_spectral_double",
         name);
}

jit::Context &Variant::context() const {
    auto &c = t_contexts[this];
    if (!c)
        c = std::make_unique<jit::Context>(backend == "llvm" ? jit::llvm_backend()
                                                             : jit::interp_backend());
    return *c;
}

const Variant &variant() {
    if (!t_variant)
        t_variant = &find_variant("llvm_rgb");
    return *t_variant;
}

void set_variant(std::string_view name) { t_variant = &find_variant(name); }

VariantScope::VariantScope(const Variant &v) : m_previous(t_variant), m_context(v.context()) {
    t_variant = &v;
}
VariantScope::~VariantScope() { t_variant = m_previous; }

} // namespace umbel
