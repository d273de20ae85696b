// core/params.h: the parameters of a plugin, declared once.
//
// A plugin's declare() runs over a Params in one of four modes. Load fills the members from a scene's Properties
// and complains about what does not fit; Describe collects names, types, defaults and prose for the manual;
// Traverse lists the members that can be read and changed afterwards; Assign gives other values to some of those that are
// numbers, switches and words of the host: see change_setting().
#pragma once
#include "core/properties.h"
#include "core/spectrum.h"
#include "core/transform.h"
#include <deque>
#include <limits>
#include <memory>
#include <variant>

namespace umbel {

class Object;
class Loader;

/// Numbers of the program in rows, columns and channels, or the like.
struct TensorSlot {
    Value *data;
    std::vector<size_t> *shape;
};
/// Numbers of the host that scripts hold as an array of the program, of any size: made when it is asked for. Whoever owns
/// them takes the array over in changed().
struct BufferSlot {
    Value *data;
    std::variant<std::vector<double> *, std::vector<uint32_t> *> host;

    const Value &read() const;
};
/// A transform of the host. A script may set its 16 numbers, row by row, as an array of the program, which may carry
/// derivatives: then that counts, and whoever owns it takes it over in changed().
struct TransformSlot {
    Value *data; // invalid if there is none
    TransformData *host;
};
/// Where a parameter lives that can be read and replaced after loading.
using Slot =
    std::variant<std::monostate, Float *, std::array<Float *, 3>, TensorSlot, // traced
                 BufferSlot, double *, std::array<int *, 2>, std::array<double *, 2>,
                 std::array<double *, 3>, TransformData *, TransformSlot, std::vector<double> *,
                 std::vector<uint32_t> *>; // of the host

/// One declared parameter.
struct Param {
    std::string name, type, otherwise; // the type and the default as the manual shows them
    std::string text;                  // prose
    bool is_differentiable = false, is_required = false, is_fixed = false;
    // In traverse mode, what can be changed: a value, or the objects that stand there.
    Slot slot;
    std::vector<std::shared_ptr<Object>> objects;
    bool is_list = false; // of objects, told apart by numbers

    Param &doc(std::string prose) {
        text = std::move(prose);
        return *this;
    }
    /// Not to be changed after loading.
    Param &fixed() {
        slot = {};
        is_fixed = true;
        return *this;
    }
    Param &differentiable() {
        is_differentiable = true;
        return *this;
    }
};

class Params {
public:
    enum class Mode { Load, Describe, Traverse, Assign };

    explicit Params(Mode mode) : m_mode(mode) {}
    Params(const Properties &properties, Loader &loader)
        : m_mode(Mode::Load), m_properties(&properties), m_loader(&loader) {}
    /// Assigns what is there, and leaves all else alone.
    explicit Params(const Properties &assigned) : m_mode(Mode::Assign), m_properties(&assigned) {}

    Mode mode() const { return m_mode; }
    bool loading() const { return m_mode == Mode::Load; }
    bool assigning() const { return m_mode == Mode::Assign; }
    const Properties *properties() const { return m_properties; }
    Loader *loader() const { return m_loader; }
    const std::deque<Param> &all() const { return m_list; }
    /// Parameters with which tests make an object, where the defaults do not suffice or do not show all that it can: as a
    /// scene file has them, once for each object to be tried. Files lie in `$files`: see tests/support/registry.h.
    void example(const char *xml) { m_examples.emplace_back(xml); }
    const std::vector<std::string> &examples() const { return m_examples; }

    // ---- values of the host: they shape the program
    Param &boolean(const char *name, bool &v, bool otherwise);
    Param &integer(const char *name, int &v, int otherwise,
                   int least = std::numeric_limits<int>::min(),
                   int most = std::numeric_limits<int>::max());
    Param &number(const char *name, double &v, double otherwise, double least = -Infinite,
                  double most = Infinite);
    Param &string(const char *name, std::string &v, std::string otherwise);
    /// One of several words.
    Param &choice(const char *name, std::string &v, std::string otherwise,
                  std::vector<std::string> words);
    /// An existing file; required.
    Param &file(const char *name, std::filesystem::path &v);
    /// An image that a script has made; null where there is none.
    Param &image(const char *name, std::shared_ptr<const Image> &v);
    Param &transform(const char *name, TransformData &v);
    /// Keys of a transform that moves; a plain transform is one key. See AnimatedTransform.
    Param &animation(const char *name, AnimationData &v);
    Param &vector(const char *name, std::array<double, 3> &v, std::array<double, 3> otherwise);
    /// A colour or spectrum as data, for plugins that are spectra themselves.
    Param &spectrum(const char *name, SpectrumData &v, SpectrumData otherwise);

    // ---- traced values: data of the program, changeable without compiling
    Param &scalar(const char *name, Float &v, double otherwise, double least = -Infinite,
                  double most = Infinite);

    // ---- what only exists after loading
    bool traversing() const { return m_mode == Mode::Traverse; }
    /// A value that can be changed under this name, beside the declared ones.
    Param &exposed(const char *name, Slot slot);
    /// An object inside, which has parameters of its own.
    Param &child(const char *name, std::shared_ptr<Object> object) {
        Param &p = add(name, "object", "");
        p.objects = { std::move(object) };
        return p;
    }
    /// A value that carries the derivative of parameters from which it was computed.
    void derived(Value &v) {
        if (traversing())
            m_derived.push_back(&v);
    }
    const std::vector<Value *> &all_derived() const { return m_derived; }

    // ---- objects
    /// A texture; a colour, spectrum or number in its place becomes one.
    template <class T> Param &texture(const char *name, std::shared_ptr<T> &v, double otherwise) {
        return object_param<T>(name, v,
                               SpectrumData::uniform(otherwise, SpectrumData::Intent::Reflectance),
                               fmt::format("{}", otherwise));
    }
    /// A texture of light: colours have no upper bound, and become spectra under D65.
    template <class T> Param &emission(const char *name, std::shared_ptr<T> &v, double otherwise) {
        return object_param<T>(name, v,
                               SpectrumData::from_rgb({ otherwise, otherwise, otherwise },
                                                      SpectrumData::Intent::Illuminant),
                               fmt::format("{} (D65)", otherwise));
    }
    /// A texture of numbers that are neither reflectance nor light, such as indices of refraction; null where the
    /// scene says nothing.
    template <class T> Param &unbounded_texture(const char *name, std::shared_ptr<T> &v) {
        return object_param<T>(name, v, {}, "none");
    }
    /// A volume; a texture, colour, spectrum or number in its place becomes one that is the same everywhere. With the intent
    /// Reflectance colours lie between 0 and 1.
    template <class T>
    Param &volume(const char *name, std::shared_ptr<T> &v, double otherwise,
                  SpectrumData::Intent intent = SpectrumData::Intent::Unspecified) {
        return volume_param<T>(name, v, SpectrumData::uniform(otherwise, intent),
                               fmt::format("{}", otherwise));
    }
    /// The same; null where the scene says nothing.
    template <class T> Param &optional_volume(const char *name, std::shared_ptr<T> &v) {
        return volume_param<T>(name, v, {}, "none");
    }
    /// The nested object that has this name; null if the scene has none.
    template <class T> Param &named_object(const char *name, std::shared_ptr<T> &v) {
        Param &p = add(name, T::Kind, "none");
        if (loading())
            v = std::dynamic_pointer_cast<T>(load_named(name, T::Kind));
        p.objects = { v };
        return p;
    }
    /// A nested object of a kind, named or not; null if the scene has none.
    template <class T> Param &object(const char *name, std::shared_ptr<T> &v) {
        std::vector<std::shared_ptr<T>> all;
        Param &p = objects(name, all, 1);
        if (loading())
            v = all.empty() ? nullptr : all[0];
        p.objects = { v };
        p.is_list = false;
        return p;
    }
    /// All nested objects of a kind, at most `most`.
    template <class T>
    Param &objects(const char *name, std::vector<std::shared_ptr<T>> &v, size_t most = ~size_t(0)) {
        Param &p = add(name, T::Kind, "none");
        if (loading()) {
            v.clear();
            for (const std::shared_ptr<Object> &o : load_objects(T::Kind, most))
                v.push_back(std::dynamic_pointer_cast<T>(o));
        }
        p.objects.assign(v.begin(), v.end());
        p.is_list = true;
        return p;
    }

private:
    static constexpr double Infinite = std::numeric_limits<double>::infinity();

    Param &add(const char *name, const char *type, std::string otherwise);
    /// Whether a value of the host is to be filled from the properties.
    bool fills(const char *name) const {
        return loading() || (assigning() && m_properties->has(name));
    }
    template <class T>
    Param &object_param(const char *name, std::shared_ptr<T> &v,
                        std::optional<SpectrumData> otherwise, std::string text) {
        Param &p = add(name, "texture", std::move(text));
        if (loading()) {
            std::shared_ptr<Object> o = load_texture(name, otherwise);
            v = std::dynamic_pointer_cast<T>(o);
            if (o && !v)
                reject(name, "is not a texture");
        }
        p.objects = { v };
        return p;
    }
    template <class T>
    Param &volume_param(const char *name, std::shared_ptr<T> &v,
                        std::optional<SpectrumData> otherwise, std::string text) {
        Param &p = add(name, T::Kind, std::move(text));
        if (loading())
            v = std::dynamic_pointer_cast<T>(load_volume(name, otherwise));
        p.objects = { v };
        return p;
    }
    std::shared_ptr<Object> load_texture(const char *name,
                                         const std::optional<SpectrumData> &otherwise);
    std::shared_ptr<Object> load_volume(const char *name,
                                        const std::optional<SpectrumData> &otherwise);
    std::shared_ptr<Object> load_named(const char *name, const char *kind);
    std::vector<std::shared_ptr<Object>> load_objects(const char *kind, size_t most);
    [[noreturn]] void reject(const char *name, std::string_view what) const;
    void check_range(const char *name, double v, double least, double most) const;

    Mode m_mode;
    const Properties *m_properties = nullptr;
    Loader *m_loader = nullptr;
    std::vector<std::string> m_examples;
    std::deque<Param> m_list;
    std::vector<Value *> m_derived;
};

} // namespace umbel
