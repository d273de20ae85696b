// core/variant.cpp: the list of variants and the current one.
#include "core/variant.h"
#include "core/device_choice.h"
#include "jit/backends.h"
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace umbel {

namespace {

void add_variants(std::string_view backend, std::vector<Variant> &out) {
    const char *colours[] = { "mono", "rgb", "spectral" };
    for (bool ad : { false, true })
        for (int c = 0; c < 3; ++c)
            for (bool polarized : { false, true })
                for (bool dbl : { false, true })
                    out.push_back(
                        { .name = fmt::format("{}{}_{}{}{}", backend, ad ? "_ad" : "", colours[c],
                                              polarized ? "_polarized" : "", dbl ? "_double" : ""),
                          .backend = std::string(backend),
                          .ad = ad,
                          .colour = Colour(c),
                          .polarized = polarized,
                          .double_precision = dbl });
}

bool has_devices(const std::string &backend) {
    return std::ranges::any_of(jit::backends(), [&](const jit::BackendEntry &b) {
        return b.name == backend && b.open_device;
    });
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
        const std::string backend = checks() ? Checking
                                    : device >= 0 && has_devices(v.backend)
                                        ? fmt::format("{}:{}", v.backend, device)
                                        : v.backend;
        if (shares) {
            std::lock_guard lock(pool().mutex);
            jit::Context *&c = pool().shared[backend];
            if (c)
                return *c;
            jit::Backend &b = jit::find_backend(backend); // "cuda" and "cuda:0" may be the same
            for (auto &[name, other] : pool().shared)
                if (other && &other->backend() == &b)
                    return *(c = other);
            return *(c = make(b));
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
        c = make(jit::find_backend(backend));
        return *c;
    }
    bool shares = false;
    int device = -1; // see set_device

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
    static jit::Context *make(jit::Backend &backend) {
        auto *c = new jit::Context(backend);
        if (backend.device()) // a third of the time of a render on a GPU
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

// Of all backends, whether this machine has them or not: most processes need not look for a device. Never destroyed: scenes refer
// to them.
static const std::vector<Variant> &known_variants() {
    static const auto *variants = [] {
        auto *all = new std::vector<Variant>;
        for (const jit::BackendEntry &b : jit::backends())
            if (b.has_variants)
                add_variants(b.name, *all);
        return all;
    }();
    return *variants;
}

const std::vector<Variant> &all_variants() {
    static const auto *variants = [] {
        auto *all = new std::vector<Variant>;
        for (const jit::BackendEntry &b : jit::backends())
            if (b.has_variants && b.is_present())
                add_variants(b.name, *all);
        return all;
    }();
    return *variants;
}

const Variant &find_variant(std::string_view name) {
    for (const Variant &v : known_variants())
        if (v.name == name)
            return v;
    // What Mitsuba calls scalar is one lane at a time, without a compiler
    if (name.starts_with("scalar_") && !name.starts_with("scalar_ad_"))
        return find_variant(fmt::format("interp_{}", name.substr(7)));
    std::string names;
    for (const jit::BackendEntry &b : jit::backends())
        if (b.has_variants)
            names += fmt::format("{}{}",
                                 names.empty()                   ? ""
                                 : &b == &jit::backends().back() ? " or "
                                                                 : ", ",
                                 b.name);
    fail("unknown variant \"{}\"; a name is backend[_ad]_colour[_polarized][_double] with backend "
         "{} and colour mono, rgb or spectral, such as llvm_rgb or llvm_ad_spectral_double",
         name, names);
}

jit::Context &Variant::context() const { return t_contexts.get(*this); }

void set_device(int number) { t_contexts.device = number; }

// Its backend is one that `find_backend` knows, such as cuda:1. Never destroyed, as the others.
const Variant &on_device(const Variant &variant, int number) {
    if (number < 0 || !has_devices(variant.backend))
        return variant;
    static std::mutex mutex;
    static auto *variants = new std::map<std::pair<const Variant *, int>, Variant>;
    std::lock_guard lock(mutex);
    auto [it, is_new] = variants->try_emplace({ &variant, number }, variant);
    if (is_new)
        it->second.backend = fmt::format("{}:{}", variant.backend, number);
    return it->second;
}

void share_contexts() { t_contexts.shares = true; }

const Variant &variant() {
    if (!t_variant)
        t_variant = &find_variant("llvm_rgb");
    return *t_variant;
}

void set_variant(std::string_view name) { set_variant(find_variant(name)); }
void set_variant(const Variant &v) { t_variant = &v; }

VariantScope::VariantScope(const Variant &v) : m_previous(t_variant), m_context(v.context()) {
    t_variant = &v;
}
VariantScope::~VariantScope() { t_variant = m_previous; }

} // namespace umbel
