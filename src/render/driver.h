// render/driver.h: renders an image, launch by launch.
//
// A launch computes a group of samples of every pixel of a band, or several groups where the image is small: a packet holds
// samples of one pixel, or of a small tile of pixels where there are fewer samples than lanes. A group is summed, then added
// to the film; groups, and with them the order of all sums, depend on the image and the sample count alone. So threads,
// passes, interruptions and resumption leave the image as it is to the bit.
#pragma once
#include "core/image.h"
#include "render/film_buffer.h"
#include "render/integrator.h"
#include <chrono>
#include <functional>
#include <map>
#include <optional>

namespace umbel {

struct RenderOptions {
    int sensor = 0;
    int spp = 0;                           // 0: as the scene says
    uint32_t seed = 0;                     // on top of the sampler's
    UInt32 seed_value = {};                // in its place, if valid
    int boundary_spp = 0;                  // see BoundaryPass; 0: as spp
    Ref<const Integrator> integrator = {}; // null: the scene's
    Ref<const Sensor> from = {};           // null: the scene's, by number
    std::optional<Film::Crop> window = {}; // the part that is rendered; none: as the film says
    /// Keeps what relative_error() needs: one more number a pixel.
    bool estimate_error = false;
    /// Pixels of a launch, at most; 0: as many as memory for 4 million samples allows. The image is
    /// the same, but for rounding where the integrator splats.
    uint32_t launch_pixels = 0;
    /// About how long a launch is to take, in seconds; 0: as long as it takes. They are sized by what the last ones took, so that
    /// a caller between them can react. Integrators that splat ignore it. The image is the same.
    double launch_seconds = 0;
    /// One of several parts of the samples, counted from 0: each can be rendered elsewhere, and merge() puts them together.
    int part = 0, parts = 1;
    /// Told how far the integrator is with what it prepares before the first launch.
    Integrator::Progress progress = {};
    /// What a checkpoint must have been made of, beyond what a Render knows itself: say, the scene's text.
    std::string label = {};
    /// Samples that are NaN or infinite count as black, in place of spoiling their pixels. They are warned of either way.
    bool skip_invalid = false;
    /// By what they are told apart from those of other renders, see render/invalid_samples.h; none: a number of its own.
    std::optional<uint32_t> tally = {};
    /// The image is asked for by tensor() alone: a render of one launch is then computed together with it.
    bool is_lazy = false;
    /// Called where a step or a derivative is between kernels that may take long: waits for those under way, and may throw.
    /// False: the integrator is told to stop.
    std::function<bool()> go_on = {};
};

/// The bytes of a state are not those that were saved.
struct DamagedState : UserError {
    using UserError::UserError;
};

class Render {
public:
    /// The scene must outlive it.
    Render(const Scene &scene, const RenderOptions &options = {});

    /// Begins anew with another camera, as a viewer does: all that the integrator has prepared is kept.
    void reset(Ref<const Sensor> from);

    /// Samples a pixel that are to be taken, and that have been taken (of the pixel with the fewest).
    int spp() const { return samples_before(m_last) - samples_before(m_first); }
    int samples_done() const { return samples_before(m_group) - samples_before(m_first); }
    bool done() const { return m_group >= m_last; }
    /// From 0 to 1.
    double progress() const;
    uint64_t total_samples() const;

    /// Starts the next launch; does not wait for it, unless the integrator asks between its kernels whether to go on. If not,
    /// nothing of that launch counts.
    void step();
    /// Until all launches are done; sizes the next one by how long that took.
    void wait();
    /// Whether there is nothing left to do, or the integrator was told to stop.
    bool stopped() const { return done() || integrator().should_stop(); }
    /// All of it.
    void run() {
        while (!stopped())
            step();
    }
    /// Whether all pixels have the same number of samples now.
    bool at_full_group() const { return m_next == 0; }
    /// Whether the group of samples that comes next is the last and smaller than the others: states from then on cannot go on
    /// to more samples.
    bool next_group_is_small() const {
        return !done() && samples_before(m_group + 1) - samples_before(m_group) < m_group_size;
    }
    bool estimates_error() const { return m_options.estimate_error; }
    /// Root mean square of the pixels' standard errors over the mean of all pixels, in luminance: estimated from the spread
    /// of groups of samples. Infinite before the second group. Waits. See docs/cli.md.
    double relative_error() const;
    /// The median of the pixels' standard errors, each over the pixel itself, among those that have noise: it does not depend on
    /// a few bright edges. Infinite before the second group. Waits. See docs/cli.md.
    double median_error() const;
    /// What has been collected so far, as the film develops it. Waits.
    Image image() const;
    /// The same as data of the program, before it is developed: the means of the film's channels by rows and columns.
    Float tensor() const;
    std::array<size_t, 3> tensor_shape() const;

    // ---- derivatives of the image, with this render's samples
    /// Adds the derivatives of sum(gradient * image) to the gradients of all that the scene's values depend on.
    void backward(const Float &gradient);
    /// The image's tangent, given those of the scene's values.
    Float forward();

    /// The state between two steps as bytes, and back; UserError if they belong to another render. A restored render
    /// goes on as if it had never stopped. It may have another number of samples, if the sampler's do not depend on that
    /// and all groups so far were full ones. DamagedState if any bit of them has changed. Saving waits.
    std::string save() const;
    void restore(std::string_view bytes);
    /// Adds what another render has saved: the part that follows this one, both of them done; or the first part, if this one has
    /// no samples yet. UserError if it is another. The sum of parts differs from a whole render in rounding alone.
    void merge(std::string_view bytes);

    // ---- launches that several renders of one scene share; see render/device_team.h
    /// What a launch has computed, channel by channel, as bytes of the host.
    using Numbers = std::vector<std::vector<char>>;
    struct Position { // of the next launch
        int group;
        uint32_t next, launch_pixels;
    };
    /// Each further launch is asked for, `members` in turn; none: it is this render's own. UserError if they cannot be divided.
    void share(size_t members, std::function<std::optional<Numbers>(const Render &)> others);
    Position position() const { return { m_group, m_next, m_launch_pixels }; }
    /// Goes on where another one is.
    void follow(const Position &p);
    /// As step(), for another render: the results, which are not added to this one's film.
    std::vector<Float> compute();
    void skip() { advance(); }

private:
    struct Band {              // pixels of a launch
        uint32_t first, count; // slots of the film's buffer
        uint32_t groups;       // of samples; several only of a small image's slots, all of them
    };
    struct Samples {              // of the lanes of a launch
        FilmBuffer::Pixels pixel; // of the crop window
        UInt32 number;            // among those of the pixel
        Mask traced;              // which ones count
        Mask skips;               // if it is invalid
        UInt32 tally;             // of those that are
        Float weight;             // of the reconstruction filter
        Vector2 offset;           // from the pixel's centre, in pixels
        SampleStream sampler;
        Ray ray;
        Spectrum ray_weight;
    };
    struct State { // that a checkpoint holds
        int spp, group_size, first, last, group;
        uint32_t next;
        FilmBuffer buffer, light;
        std::vector<Value> carried;
    };
    State parse(std::string_view bytes) const;
    /// UserError if a state of another number of samples cannot go on here.
    void check_extension(const State &s) const;
    /// Of each slot, in sums of groups: the variance of its mean, and its mean.
    std::pair<Float, Float> spread() const;
    class Launch;
    /// Of all parts and of the whole film, which all that a render is divided into have in common.
    uint64_t whole_samples() const;
    /// Sets up all that depends on the camera.
    void begin();
    bool make_ready() const;
    bool goes_on() const;
    /// The same for derivatives: UserError if not.
    void must_go_on() const;
    /// Where a launch's samples are: what differs between launches of the same size.
    struct Place {
        UInt32 first;  // slot
        UInt32 sample; // of each pixel
        UInt32 seed;
        UInt32 skip_invalid; // not 0: see RenderOptions
        UInt32 tally;        // see render/invalid_samples.h
    };
    Place place_of(const Band &band) const;
    Samples start(const Band &band, const Place &place) const;
    std::shared_ptr<const RayNeighbours> neighbours_of(const CameraSample &c, const Ray &ray,
                                                       const Mask &active) const;
    void launch(const Band &band);
    std::vector<Float> compute(const Band &band);
    /// What a launch has computed: the film's channels, of pixels or of samples, with whatever collect() needs besides.
    std::vector<Float> results_of(const Radiance &r, const Samples &samples) const;
    /// Adds them to the film.
    void collect(const Band &band, std::vector<Float> results);
    /// What is added for group `n` of the render, counted from 1, to what there is `before`.
    std::vector<Float> numbers_of(std::vector<Float> group, const std::vector<Float> &before,
                                  const Float &n) const;
    void splat(const Vector2 &place, const Spectrum &L, const Wavelengths &wavelengths,
               SampleStream &sampler, const Samples &samples, const Mask &active);
    /// Paths from lights so far, over the number of pixels.
    double light_samples() const;
    void refuse_splats() const;
    Band next_band() const;
    uint32_t next_groups() const;
    void advance();
    BoundaryPass boundary_pass(ad::Mode mode, const Float &gradient) const;
    /// The same for a derivative of so many samples a pixel, of which there may be none: see is_continuous().
    Render with_samples(int continuous) const;
    bool is_continuous() const;
    /// Before the first launch of a derivative: fewer of them.
    void widen_groups();
    /// What the integrator gives for these samples, followed by nothing.
    Radiance primal_of(const Samples &samples) const;
    std::vector<Float> film_channels(const Radiance &r, const Samples &samples) const;
    std::vector<std::string> channel_names() const;
    /// Samples that a slot's pixel has.
    Float samples_of(const UInt32 &slot) const;
    std::string signature() const;

    const Sensor &sensor() const { return *m_sensor; }
    const Film &film() const { return m_sensor->film(); }
    const Film::Crop &crop() const { return m_crop; }
    const Integrator &integrator() const { return *m_integrator; }
    bool splats() const { return film().splats(); }

    /// Groups of samples that all pixels have, without the last if that is smaller.
    int full_groups() const { return samples_done() / m_group_size; }
    /// Samples of a pixel that come before a group.
    int samples_before(int group) const { return std::min(group * m_group_size, m_spp); }

    const Scene &m_scene;
    RenderOptions m_options;
    Ref<const Sensor> m_sensor;
    Ref<const Integrator> m_integrator;
    Film::Crop m_crop;        // what is rendered of the film
    bool m_is_single = false; // one launch, computed by tensor()
    bool m_repeats = false;   // launches may be recorded
    int m_spp, m_group_size;  // samples a pixel of one launch
    uint32_t m_seed;
    uint32_t m_tally;
    UInt32 m_seed_value;
    uint32_t m_most_pixels,
        m_launch_pixels;     // of a launch, at most and at present, times its groups
    bool m_is_small = false; // so that launches may hold several groups
    double m_launch_seconds = 0;
    double m_overhead = 1e9; // seconds that starting a launch takes, at best
    std::chrono::steady_clock::time_point
        m_since; // launches that are under way, and how many pixels
    uint32_t m_under_way = 0;
    std::shared_ptr<Launches> m_launches;
    Ref<const Sampler> m_sampler; // the sensor's, or one like it with another count
    FilmBuffer m_light;           // channels, of what the integrator has splatted, if it does
    std::vector<Value> m_carried; // see Pass
    // Channels; then what errors are estimated from, or how many samples there are
    FilmBuffer m_buffer;
    int m_first = 0, m_last = 0; // groups of samples that are to be taken
    int m_group = 0;             // the first that not all pixels have
    uint32_t m_next = 0;         // the slot that the next launch begins with
    std::function<std::optional<Numbers>(const Render &)> m_others; // see share()
    bool m_is_given_up = false;                                     // the launch under way
};

} // namespace umbel
