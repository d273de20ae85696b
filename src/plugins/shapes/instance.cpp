// instance: makes the shapes of a `shapegroup` stand in the scene, moved by a transform.
//
// Any number of instances of a group need the memory of one. Transforms may shear, mirror and scale unevenly; normals
// keep the side that they are on.
#include "render/instance.h"

namespace umbel {

class InstancePlugin final : public Instance {
public:
    void declare(Params &p) override {
        Ref<Shape> group;
        p.transform("to_world", m_to_world).doc("From the group's space to the scene's");
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
        const TransformData &m = m_to_world;
        if (m(3, 0) != 0 || m(3, 1) != 0 || m(3, 2) != 0 || m(3, 3) != 1)
            fail("{}: to_world is a projection; an instance can be moved, turned, scaled and "
                 "sheared only",
                 p.properties()->describe());
    }
};

UMBEL_PLUGIN(Shape, InstancePlugin, "instance")
} // namespace umbel
