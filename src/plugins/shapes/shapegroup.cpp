// shapegroup: shapes that are stored once and stand in the scene wherever an `instance` puts them.
//
// The group itself is not seen. Materials belong to its shapes, so all instances look alike. Lights, further groups and
// instances cannot be part of it.
#include "render/instance.h"
#include "render/shape_list.h"

namespace umbel {

class ShapeGroupPlugin final : public ShapeGroup {
public:
    void declare(Params &p) override {
        p.example("<shape type='sphere'/>");
        p.objects("shape", m_members).doc("Shapes of the group, in a space of its own");
        if (!p.loading())
            return;
        if (m_members.empty())
            fail("{}: the group is empty; put shapes into it", p.properties()->describe());
    }

    void configure() override {
        expand(m_members);
        for (const Ref<Shape> &s : m_members) {
            if (dynamic_cast<const ShapeGroup *>(s.get()))
                s->complain("Nested ShapeGroup is not permitted; put its shapes there");
            if (dynamic_cast<const Instance *>(s.get()))
                s->complain("Nested instancing is not permitted; put the instance into the scene");
            if (s->is_moving())
                s->complain(
                    "Nested instancing is not permitted; animate the instances of the group");
            if (s->emitter())
                s->complain(
                    "Instancing of emitters is not supported; put the light into the scene");
        }
    }
};

UMBEL_PLUGIN(Shape, ShapeGroupPlugin, "shapegroup")
} // namespace umbel
