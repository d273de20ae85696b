// core/variant.cpp: the list of variants and the current one.
#include "core/variant.h"
#include "jit/cuda/present.h"
#include <cstdlib>
#include <map>
#include <mutex>

namespace umbel {

namespace {

std::vector<Variant> make_variants(std::initializer_list<const char *> backends) {
    std::vector<Variant> out;
    const char *colours[] = { "mono", "rgb", "spectral" };
    for (const char *backend : backends)
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

// Contexts are never destroyed: values may outlive their thread, and at the end of the program other statics. A thread
// that ends leaves its contexts to the next one.
class ThreadContexts {
public:
    ~ThreadContexts() {
        std::lock_guard lock(pool().mutex);
        for (auto &[backend, context] : m_contexts) {
            if (!context) // it could not be made
                continue;
            context->finish();
            pool().free[backend].push_back(context);
        }
    }
    jit::Context &get(const Variant &v) {
        const std::string &backend = checks() ? Checking : v.backend;
        if (shares) {
            std::lock_guard lock(pool().mutex);
            jit::Context *&c = pool().shared[backend];
            if (!c)
                c = make(backend);
            return *c;
        }
        jit::Context *&c = m_contexts[backend];
        if (c)
            return *c;
        {
            std::lock_guard lock(pool().mutex);
            auto &free = pool().free[backend];
            if (!free.empty()) {
                c = free.back();
                free.pop_back();
                return *c;
            }
        }
        c = make(backend);
        return *c;
    }
    bool shares = false;

private:
    struct Pool {
        std::mutex mutex;
        std::map<std::string, std::vector<jit::Context *>> free; // by backend
        std::map<std::string, jit::Context *> shared;
    };
    static inline const std::string Checking = "check";
    /// UMBEL_BACKEND=check: all variants look at every index; see docs/jit.md.
    static bool checks() {
        static const char *name = std::getenv("UMBEL_BACKEND");
        return name && name == Checking;
    }
    static jit::Context *make(const std::string &backend) {
        auto *c = new jit::Context(jit::find_backend(backend));
        if (c->backend().device()) // a third of the time of a render on a GPU
            c->set(jit::Flag::FastMath, true);
        return c;
    }
    static Pool &pool() {
        static Pool *p = new Pool; // never destroyed, too
        return *p;
    }
    std::map<std::string, jit::Context *> m_contexts;
};
thread_local ThreadContexts t_contexts;

} // namespace

// Never destroyed: scenes refer to them. Those of a device are apart: most processes need not look for one.
static const std::vector<Variant> &host_variants() {
    static const auto *variants = new std::vector<Variant>(make_variants({ "llvm", "interp" }));
    return *variants;
}
static const std::vector<Variant> &cuda_variants() {
    static const auto *variants = new std::vector<Variant>(make_variants({ "cuda" }));
    return *variants;
}

const std::vector<Variant> &all_variants() {
    static const auto *variants = [] {
        auto *all = new std::vector<Variant>(host_variants());
        if (jit::cuda_is_present())
            all->insert(all->end(), cuda_variants().begin(), cuda_variants().end());
        return all;
    }();
    return *variants;
}

const Variant &find_variant(std::string_view name) {
    for (const auto *variants : { &host_variants(), &cuda_variants() })
        for (const Variant &v : *variants)
            if (v.name == name)
                return v;
    // What Mitsuba calls scalar is one lane at a time, without a compiler
    if (name.starts_with("scalar_") && !name.starts_with("scalar_ad_"))
        return find_variant(fmt::format("interp_{}", name.substr(7)));
    fail("unknown variant \"{}\"; a name is backend[_ad]_colour[_polarized][_double] with backend "
         "llvm, "
         "interp or cuda and colour mono, rgb or spectral, such as llvm_rgb or "
         "llvm_ad_spectral_double",
         name);
}

jit::Context &Variant::context() const { return t_contexts.get(*this); }

void share_contexts() { t_contexts.shares = true; }

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
