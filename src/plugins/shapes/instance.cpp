// instance: makes the shapes of a `shapegroup` stand in the scene, moved by a transform.
//
// Any number of instances of a group need the memory of one. Transforms may shear, mirror and scale unevenly; normals
// keep the side that they are on. An animation is taken at up to 129 times, between which points move on straight lines:
// as many as keep the matrix within a part in ten thousand of it.
#include "render/instance.h"

namespace umbel {

class InstancePlugin final : public Instance {
public:
    void declare(Params &p) override {
        p.example("<shape type='shapegroup'><shape type='sphere'/></shape>");
        Ref<Shape> group;
        declare_to_world(p).doc("From the group's space to the scene's");
        p.object("shapegroup", group).doc("The group, most often by reference");
        if (!p.loading())
            return;
        if (!group)
            fail("{}: which shapegroup? Refer to one: <ref id=\"...\"/>",
                 p.properties()->describe());
        m_group = std::dynamic_pointer_cast<ShapeGroup>(group);
        if (!m_group)
            fail("{}: {} is no shapegroup; put it into one, and refer to that",
                 p.properties()->describe(), quote(group->plugin()));
    }

    void configure() override {
        if (is_moving())
            return;
        try {
            decompose(m_to_world); // complains of what no instance can be
        } catch (const UserError &e) {
            complain("to_world: {}", e.what());
        }
    }
};

UMBEL_PLUGIN(Shape, InstancePlugin, "instance")
} // namespace umbel
