// render/embree.cpp: ray tracing in single precision on the CPU.
//
// Kernels call back once a packet (embree_packets.h). A scene of many triangles has up to two trees: one that is built quickly
// with the scene, and one with spatial splits, which a render of many samples builds first. Which one a ray is traced in
// depends on the render's size alone, not on what was rendered before: where edges are hit to the last bit, trees differ.
#include "core/before_changes.h"
#include "jit/available_memory.h"
#include "jit/host_pointer.h"
#include "jit/parallel.h"
#include "render/accelerator.h"
#include "render/embree_packets.h"
#include "render/expected_samples.h"
#include "render/lost_rays.h"
#include <algorithm>
#include <cstring>

namespace umbel {

namespace {

void report(void *, RTCError code, const char *text) {
    if (code == RTC_ERROR_OUT_OF_MEMORY)
        throw DeviceError(
            fmt::format("Embree ran out of memory; {}; reduce the scene", jit::memory_left()));
    if (code ==
        RTC_ERROR_UNKNOWN) // an exception of a library below it: threads that the system refuses, for instance
        throw DeviceError(
            fmt::format("Embree: {}; raise the process's limits of memory and threads",
                        text && *text ? text : "something failed"));
    throw InternalError(fmt::format("Embree: error {}: {}", int(code), text ? text : ""));
}

RTCDevice device() {
    static RTCDevice d = [] {
        RTCDevice dev = rtcNewDevice("start_threads=0,frequency_level=simd512");
        if (!dev) {
            RTCError error = rtcGetDeviceError(nullptr);
            if (error == RTC_ERROR_OUT_OF_MEMORY)
                throw DeviceError(fmt::format("Embree cannot start: out of memory; {}; raise the "
                                              "process's limit of it (ulimit, --max-memory)",
                                              jit::memory_left()));
            throw DeviceError(fmt::format(
                "Embree cannot start (error {}){}", int(error),
                error == RTC_ERROR_UNSUPPORTED_CPU ? "; this machine lacks SSE4.2" : ""));
        }
        rtcSetDeviceErrorFunction(dev, report, nullptr);
        return dev;
    }();
    return d;
}

// Embree's threads ask for the boxes of analytic shapes.
struct {
    jit::HandOver to, from;
} build_hand_over;

void commit(RTCScene scene) {
    build_hand_over.to.give();
    jit::TakeAtEnd end{ build_hand_over.from };
    rtcCommitScene(scene);
}

RTCScene new_scene(bool robust) {
    RTCScene scene = rtcNewScene(device());
    if (robust)
        rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
    return scene;
}

class EmbreeAccelerator final : public Accelerator {
public:
    explicit EmbreeAccelerator(const Geometry &g)
        : m_instances(*g.table), m_has_analytic(!g.analytic.empty()) {
        m_trees = std::make_shared<Trees>(g.parts.size(), g.meshes);
        std::vector<Part> &parts = m_trees->parts;
        for (size_t i = g.parts.size(); i-- > 0;) { // the scene last: it refers to the others
            parts[i].scene = new_scene(g.robust);
            // Spatial splits: 5 to 7 % off a render of many triangles, for four times the time to build. Where there are
            // millions, they are small, and building would take most of the time
            constexpr uint32_t SplitUpTo = 1u << 20, AtOnceUpTo = 4096, SamplesATriangle = 4;
            uint32_t triangles = g.parts[i].triangles;
            bool splits = !g.is_rebuilt && triangles <= SplitUpTo,
                 later = splits && i == 0 && triangles > AtOnceUpTo;
            if (later)
                m_split_from = uint64_t(SamplesATriangle) * triangles;
            else if (splits)
                rtcSetSceneBuildQuality(parts[i].scene, RTC_BUILD_QUALITY_HIGH);
            add_triangles(g, g.parts[i], parts[i]);
            add_analytic(g, g.parts[i], parts[i]);
            add_curves(g, g.parts[i], parts[i]);
            if (i == 0)
                add_instances(g);
            commit(parts[i].scene);
        }
        if (!m_curve_prims_host.empty())
            m_curve_prims = jit::copy(m_curve_prims_host);
        m_first_curve = InstanceGeometry + uint32_t(g.instances.size());
        m_trees->quick = { parts[0].scene, m_trees->reach };
        m_scene = jit::host_pointer(&m_trees->quick, m_trees);
    }
    ~EmbreeAccelerator() override {
        try {
            m_scene.context().synchronize(); // kernels under way use analytic shapes
        } catch (const std::exception &) {   // reported to whoever synchronizes next
        }
    }

    Hit trace(const Ray &ray, const Mask &active, const Mask &coherent) const override {
        using jit::Type;
        static const Type types[] = { Type::F32, Type::F32, Type::F32, Type::F32,
                                      Type::F32, Type::U32, Type::U32, Type::U32 };
        std::vector<Value> in = ray_inputs(ray, coherent);
        auto out =
            jit::call_host("embree intersect", &trace_embree_packet, tree(), in, types, active);
        if (m_has_analytic)
            m_before_changes.add(out);
        // In place of the normal's first component: the distance.
        UInt32 prim(out[5]), geometry(out[6]), instance(0u);
        if (m_first_prims.valid()) { // a hit on an instance numbers what is in its own tree
            instance = UInt32(out[7]) + UInt32(1u - InstanceGeometry);
            instance = select(UInt32(out[7]) == UInt32(~0u), UInt32(0u), instance);
            Mask found = active & (geometry < UInt32(uint32_t(InstanceGeometry)));
            prim += jit::gather(m_first_prims, instance * UInt32(2u) + geometry, found);
        }
        if (m_curve_prims.valid()) { // what Embree knows as curves is analytic to all others
            Mask curve = active & (geometry >= UInt32(m_first_curve)) & (geometry != UInt32(~0u));
            UInt32 first = jit::gather(m_curve_prims, geometry - UInt32(m_first_curve), curve);
            if (m_first_prims.valid())
                first +=
                    jit::gather(m_first_prims,
                                instance * UInt32(2u) + UInt32(uint32_t(AnalyticGeometry)), curve);
            prim = select(curve, UInt32(out[5]) + first, prim);
            geometry = select(curve, UInt32(uint32_t(AnalyticGeometry)), geometry);
        }
        return { Float(out[0]), Float(out[3]), Float(out[4]), prim, geometry, instance };
    }

    Mask occluded(const Ray &ray, const Mask &active) const override {
        static const jit::Type types[] = { jit::Type::U32 };
        std::vector<Value> in = ray_inputs(ray, false);
        auto out =
            jit::call_host("embree occluded", &test_embree_packet, tree(), in, types, active);
        if (m_has_analytic)
            m_before_changes.add(out);
        return UInt32(out[0]) != UInt32(0u);
    }

private:
    /// The one that this render traces rays in.
    const jit::Value &tree() const {
        if (ExpectedSamples::now() < m_split_from)
            return m_scene;
        if (!m_split_scene.valid()) {
            m_trees->build_with_splits();
            m_split_scene = jit::host_pointer(&m_trees->split, m_trees);
        }
        return m_split_scene;
    }
    // In the order of RTCRayN's fields; `id`, which Embree leaves alone, says whether rays are coherent.
    std::vector<Value> ray_inputs(const Ray &r, const Mask &coherent) const {
        UInt32 zero(0u), all(~0u), id(coherent);
        Float time = m_instances.is_moving() ? m_instances.fraction(r.time) : Float(0);
        return { r.o.x, r.o.y, r.o.z, Float(0), r.d.x, r.d.y, r.d.z, time, r.maxt, all, id, zero };
    }

    /// What has a tree of its own.
    struct Part {
        RTCScene scene = nullptr;
        std::vector<uint32_t> geometries; // that it has
        struct Primitive {
            const AnalyticShape *shape;
            uint32_t primitive, number; // in its shape, and among those of the part
        };
        std::vector<Primitive> analytic;
    };
    /// They live as long as a recorded call refers to them, which may be longer than the scene is as it was.
    struct Trees {
        std::vector<Part> parts;                // the scene, then groups
        float reach = float(LargestCoordinate); // of rays; less where instances magnify them
        std::shared_ptr<const PackedMeshes> meshes;
        EmbreeTree quick, split; // of the scene; the latter once it is asked for
        Trees(size_t n, std::shared_ptr<const PackedMeshes> m) : parts(n), meshes(std::move(m)) {}
        ~Trees() {
            for (Part &p : parts)
                rtcReleaseScene(p.scene);
            if (split.scene)
                rtcReleaseScene(split.scene);
        }
        /// Of the same geometries. Those of groups have splits already.
        void build_with_splits() {
            split = { new_scene(rtcGetSceneFlags(parts[0].scene) & RTC_SCENE_FLAG_ROBUST), reach };
            rtcSetSceneBuildQuality(split.scene, RTC_BUILD_QUALITY_HIGH);
            for (uint32_t id : parts[0].geometries)
                rtcAttachGeometryByID(split.scene, rtcGetGeometry(parts[0].scene, id), id);
            commit(split.scene);
        }
    };

    static void attach(Part &part, RTCGeometry geometry, uint32_t id) {
        rtcCommitGeometry(geometry);
        rtcAttachGeometryByID(part.scene, geometry, id);
        rtcReleaseGeometry(geometry);
        part.geometries.push_back(id);
    }

    static void add_triangles(const Geometry &g, const Geometry::Part &range, Part &part) {
        if (!range.triangles)
            return;
        const PackedMeshes &m = *g.meshes;
        RTCGeometry mesh = rtcNewGeometry(device(), RTC_GEOMETRY_TYPE_TRIANGLE);
        if (!range.deforms()) { // vertices and triangles are used where they are
            rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                       m.vertices->data(), 0, m.vertex_bytes(), m.vertex_count);
            rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                       m.triangles->data(), 16 * size_t(range.first_triangle), 16,
                                       range.triangles);
            return attach(part, mesh, TriangleGeometry);
        }
        rtcSetGeometryTimeStepCount(mesh, unsigned(range.steps.size()));
        for (unsigned step = 0; step < range.steps.size(); ++step) {
            const std::vector<double> &from = range.steps[step];
            auto *v = (float *)rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, step,
                                                       RTC_FORMAT_FLOAT3, 12, from.size() / 3);
            std::copy(from.begin(), from.end(), v);
        }
        auto *t = (uint32_t *)rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0,
                                                      RTC_FORMAT_UINT3, 12, range.triangles);
        for (size_t i = 0; i < range.triangles; ++i)
            for (size_t k = 0; k < 3; ++k)
                t[3 * i + k] = m.triangle(range.first_triangle + i)[k] - range.first_vertex;
        attach(part, mesh, TriangleGeometry);
    }

    void add_instances(const Geometry &g) {
        if (g.instances.empty())
            return;
        // By instance, then triangles or analytic shapes; the scene's own begin at zero.
        std::vector<uint32_t> first_prims = { 0, 0 };
        for (uint32_t i = 0; i < g.instances.size(); ++i) {
            const Geometry::Part &part = g.parts[g.instances[i].part];
            first_prims.insert(first_prims.end(), { part.first_triangle, part.first_analytic });
            TransformSteps steps = g.steps_of(g.instances[i]);
            double reach = reach_of(steps);
            if (reach == 0)
                continue;
            m_trees->reach = std::min(m_trees->reach, float(reach));
            RTCGeometry instance = rtcNewGeometry(device(), RTC_GEOMETRY_TYPE_INSTANCE);
            rtcSetGeometryInstancedScene(instance, m_trees->parts[g.instances[i].part].scene);
            rtcSetGeometryTimeStepCount(instance, unsigned(steps.size()));
            for (size_t k = 0; k < steps.size(); ++k) {
                float rows[12];
                std::copy(steps[k].m.begin(), steps[k].m.begin() + 12, rows);
                rtcSetGeometryTransform(instance, unsigned(k), RTC_FORMAT_FLOAT3X4_ROW_MAJOR, rows);
            }
            attach(m_trees->parts[0], instance, InstanceGeometry + i);
        }
        m_first_prims = jit::copy(first_prims);
    }

    // ---- analytic shapes

    static void add_analytic(const Geometry &g, const Geometry::Part &range, Part &part) {
        auto shape_of = [&](uint32_t i) {
            return g.analytic[g.analytic_primitives[range.first_analytic + i].shape];
        };
        size_t count = 0;
        for (uint32_t i = 0; i < range.analytic; ++i)
            count += !shape_of(i)->curves();
        part.analytic.reserve(count);
        for (uint32_t i = 0; i < range.analytic; ++i)
            if (!shape_of(i)->curves())
                part.analytic.push_back(
                    { shape_of(i), g.analytic_primitives[range.first_analytic + i].primitive, i });
        if (part.analytic.empty())
            return;
        RTCGeometry user = rtcNewGeometry(device(), RTC_GEOMETRY_TYPE_USER);
        rtcSetGeometryUserPrimitiveCount(user, unsigned(part.analytic.size()));
        rtcSetGeometryUserData(user, &part);
        rtcSetGeometryBoundsFunction(user, &analytic_bounds, nullptr);
        rtcSetGeometryIntersectFunction(user, &analytic_intersect);
        rtcSetGeometryOccludedFunction(user, &analytic_occluded);
        attach(part, user, AnalyticGeometry);
    }

    // Round curves have geometries of their own, whose numbers come after those of all instances.
    void add_curves(const Geometry &g, const Geometry::Part &range, Part &part) {
        uint32_t end = range.first_analytic + range.analytic;
        for (uint32_t i = range.first_analytic; i < end; ++i) {
            const auto &p = g.analytic_primitives[i];
            const Curves *curves = g.analytic[p.shape]->curves();
            if (!curves || p.primitive != 0)
                continue;
            RTCGeometry geometry =
                rtcNewGeometry(device(), curves->is_linear ? RTC_GEOMETRY_TYPE_ROUND_LINEAR_CURVE
                                                           : RTC_GEOMETRY_TYPE_ROUND_BSPLINE_CURVE);
            auto *v = (float *)rtcSetNewGeometryBuffer(
                geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT4, 16, curves->points.size());
            for (const auto &point : curves->points)
                v = std::copy(point.begin(), point.end(), v);
            auto *s = (uint32_t *)rtcSetNewGeometryBuffer(
                geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT, 4, curves->segments.size());
            std::copy(curves->segments.begin(), curves->segments.end(), s);
            if (curves->is_linear) { // which ends have a neighbour
                auto *flags = (unsigned char *)rtcSetNewGeometryBuffer(
                    geometry, RTC_BUFFER_TYPE_FLAGS, 0, RTC_FORMAT_UCHAR, 1,
                    curves->segments.size());
                for (size_t k = 0; k < curves->segments.size(); ++k) {
                    const std::vector<uint32_t> &all = curves->segments;
                    bool left = k && all[k - 1] + 1 == all[k],
                         right = k + 1 < all.size() && all[k + 1] == all[k] + 1;
                    flags[k] =
                        static_cast<unsigned char>((left ? RTC_CURVE_FLAG_NEIGHBOR_LEFT : 0) |
                                                   (right ? RTC_CURVE_FLAG_NEIGHBOR_RIGHT : 0));
                }
            }
            rtcSetGeometryIntersectFilterFunction(geometry, &from_outside);
            rtcSetGeometryOccludedFilterFunction(geometry, &from_outside);
            uint32_t number = uint32_t(m_curve_prims_host.size());
            m_curve_prims_host.push_back(i - range.first_analytic);
            attach(part, geometry, InstanceGeometry + uint32_t(g.instances.size()) + number);
        }
    }

    // Curves are not seen from inside.
    static void from_outside(const RTCFilterFunctionNArguments *a) {
        for (unsigned i = 0; i < a->N; ++i)
            if (RTCRayN_dir_x(a->ray, a->N, i) * RTCHitN_Ng_x(a->hit, a->N, i) +
                    RTCRayN_dir_y(a->ray, a->N, i) * RTCHitN_Ng_y(a->hit, a->N, i) +
                    RTCRayN_dir_z(a->ray, a->N, i) * RTCHitN_Ng_z(a->hit, a->N, i) >=
                0)
                a->valid[i] = 0;
    }

    static void analytic_bounds(const RTCBoundsFunctionArguments *a) {
        jit::GiveAtEnd end{ build_hand_over.from };
        build_hand_over.to.take();
        auto *part = static_cast<Part *>(a->geometryUserPtr);
        const Part::Primitive &p = part->analytic[a->primID];
        BoundingBox b = p.shape->primitive_bounds(p.primitive);
        auto widen = [](double v, float towards) { return std::nextafter(float(v), towards); };
        constexpr float Inf = std::numeric_limits<float>::infinity();
        *a->bounds_o = { widen(b.min[0], -Inf), widen(b.min[1], -Inf), widen(b.min[2], -Inf), 0,
                         widen(b.max[0], Inf),  widen(b.max[1], Inf),  widen(b.max[2], Inf),  0 };
    }

    // The hit along ray i of n; at infinity if there is none.
    static AnalyticShape::HostHit analytic_hit(const Part &part, RTCRayN *rays, unsigned n,
                                               unsigned i, unsigned prim) {
        std::array<double, 3> o{ RTCRayN_org_x(rays, n, i), RTCRayN_org_y(rays, n, i),
                                 RTCRayN_org_z(rays, n, i) };
        std::array<double, 3> d{ RTCRayN_dir_x(rays, n, i), RTCRayN_dir_y(rays, n, i),
                                 RTCRayN_dir_z(rays, n, i) };
        const Part::Primitive &p = part.analytic[prim];
        return p.shape->intersect_primitive_host(p.primitive, o, d, RTCRayN_tnear(rays, n, i),
                                                 RTCRayN_tfar(rays, n, i));
    }

    // Rays may have no end, and still do not meet what is at infinity.
    static bool is_met(const AnalyticShape::HostHit &hit, float end) {
        return hit.t <= end && hit.t < std::numeric_limits<double>::infinity();
    }

    static void analytic_intersect(const RTCIntersectFunctionNArguments *a) {
        auto &part = *static_cast<Part *>(a->geometryUserPtr);
        RTCRayN *rays = RTCRayHitN_RayN(a->rayhit, a->N);
        RTCHitN *hits = RTCRayHitN_HitN(a->rayhit, a->N);
        for (unsigned i = 0; i < a->N; ++i) {
            if (a->valid[i] != -1)
                continue;
            AnalyticShape::HostHit hit = analytic_hit(part, rays, a->N, i, a->primID);
            if (!is_met(hit, RTCRayN_tfar(rays, a->N, i)))
                continue;
            RTCRayN_tfar(rays, a->N, i) = float(hit.t);
            RTCHitN_u(hits, a->N, i) = float(hit.u);
            RTCHitN_v(hits, a->N, i) = float(hit.v);
            RTCHitN_primID(hits, a->N, i) = part.analytic[a->primID].number;
            RTCHitN_geomID(hits, a->N, i) = a->geomID;
            RTCHitN_instID(hits, a->N, i, 0) = a->context->instID[0];
        }
    }

    static void analytic_occluded(const RTCOccludedFunctionNArguments *a) {
        auto &part = *static_cast<Part *>(a->geometryUserPtr);
        for (unsigned i = 0; i < a->N; ++i)
            if (a->valid[i] == -1 && is_met(analytic_hit(part, a->ray, a->N, i, a->primID),
                                            RTCRayN_tfar(a->ray, a->N, i)))
                RTCRayN_tfar(a->ray, a->N, i) = -std::numeric_limits<float>::infinity();
    }

    std::shared_ptr<Trees> m_trees;
    jit::Value m_scene; // the same, as kernels know them
    mutable jit::Value m_split_scene;
    uint64_t m_split_from = std::numeric_limits<uint64_t>::max(); // samples of a render
    UInt32 m_first_prims;                                         // only with instances
    std::vector<uint32_t> m_curve_prims_host;
    UInt32
        m_curve_prims; // of each geometry of curves: its first among the analytic primitives of its part
    uint32_t m_first_curve = 0;       // the first of these geometries
    const InstanceTable &m_instances; // the scene's
    bool m_has_analytic;
    mutable BeforeChanges m_before_changes; // hits, which look at analytic shapes
};

} // namespace

std::unique_ptr<Accelerator> make_embree_accelerator(const Geometry &geometry) {
    return std::make_unique<EmbreeAccelerator>(geometry);
}

} // namespace umbel
