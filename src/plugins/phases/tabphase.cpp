// tabphase: scattering as a table has it, such as one that was measured, or computed for drops of some size.
//
// Values belong to cosines of the angle by which light is turned: from -1, where it turns back, to 1, where it goes straight
// on. In between they are interpolated; they need not be normalized. Scattered light is unpolarized.
#include "core/distribution.h"
#include "core/host_array.h"
#include "core/number_list.h"
#include "render/axial_phase.h"

namespace umbel {

class TabulatedPhase final : public AxialPhase {
public:
    void declare(Params &p) override {
        p.example("<string name='values' value='0.5, 1.0, 1.5'/>");
        p.example(
            "<string name='values' value='2 0.1 0.05 0.4 3'/><string name='nodes' value='-1 -.5 "
            "0.1 0.7 1'/>");
        if (p.traversing()) {
            p.exposed("values", &m_values).differentiable();
            if (m_nodes.valid())
                p.exposed("nodes", &m_nodes);
            return;
        }
        std::string values, nodes;
        p.string("values", values, "").doc("Numbers between commas or blanks; two at least");
        p.string("nodes", nodes, "")
            .doc(
                "As many cosines, in increasing order from -1 to 1; by default at equal distances");
        if (p.loading())
            read(values, nodes, *p.properties());
    }
    void configure() override {
        AxialPhase::configure();
        m_table = m_nodes.valid() ? ContinuousDistribution(m_nodes, m_values)
                                  : ContinuousDistribution(-1, 1, m_values);
    }

protected:
    Float density(const Float &cosine, const Mask &active) const override {
        return m_table.eval_pdf_normalized(clamp(cosine, -1, 1), active) * (0.5 * InvPi);
    }
    Float sample_cosine(const Float &u, const Mask &active) const override {
        return m_table.sample(u, active).x;
    }

private:
    void read(const std::string &values, const std::string &nodes, const Properties &q) {
        std::vector<double> v = parse_number_list(values, "values", q);
        if (v.size() < 2)
            fail("{}: values has {} numbers; give at least two, from backwards to forwards",
                 q.describe(), v.size());
        m_values = float_array(v);
        if (nodes.empty())
            return;
        std::vector<double> x = parse_number_list(nodes, "nodes", q);
        if (x.size() != v.size())
            fail("{}: there are {} nodes for {} values; give one for each", q.describe(), x.size(),
                 v.size());
        if (x.front() != -1 || x.back() != 1)
            fail("{}: nodes go from {} to {}; they must go from -1 to 1", q.describe(), x.front(),
                 x.back());
        m_nodes = float_array(x);
    }

    Float m_values, m_nodes; // nodes: none if they are at equal distances
    ContinuousDistribution m_table;
};

UMBEL_PLUGIN(PhaseFunction, TabulatedPhase, "tabphase")
} // namespace umbel
