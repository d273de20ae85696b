"""Path replay backpropagation [Vicini 2021] at its shortest: paths that meet lights by chance."""
import umbel as mi
import umbel.jit as dr
from .common import RBIntegrator


class BasicPRBIntegrator(RBIntegrator):
    """A path tracer without next event estimation: lights at points or in single directions are never met."""

    @dr.syntax
    def sample(self, mode, scene, sampler, ray, δL=None, state_in=None, active=True, **kwargs):
        """See RBIntegrator."""
        primal = mode == dr.ADMode.Primal
        ctx = mi.BSDFContext()
        depth, eta = mi.UInt32(0), mi.Float(1)
        L = mi.Spectrum(0 if primal else state_in)  # gathered so far; when differentiating, what lies ahead
        tangent, throughput = mi.Spectrum(0), mi.Spectrum(1)
        δL = mi.Spectrum(δL if δL is not None else 0)
        ray, active, valid = mi.Ray3f(ray), mi.Bool(active), mi.Bool(False)

        while dr.hint(active, label="Path Replay Backpropagation"):
            si = scene.ray_intersect(ray, active)
            bsdf = si.bsdf(ray)
            hides = self.hide_emitters and (depth == 0)

            with dr.resume_grad(when=not primal):
                Le = throughput * si.emitter(scene).eval(si, active & ~mi.Bool(hides))
            bs, weight = bsdf.sample(ctx, si, sampler.next_1d(), sampler.next_2d(), active)
            L = L + dr.detach(Le) if primal else L - dr.detach(Le)
            valid |= active & si.is_valid()

            next_ray = si.spawn_ray(si.to_world(bs.wo))
            throughput_next = throughput * weight
            active_next = active & si.is_valid() & dr.any(throughput_next != 0) & (depth + 1 < self.max_depth)
            eta *= dr.select(active_next, bs.eta, 1)

            brightest = dr.max(throughput_next)
            q = dr.minimum(brightest * dr.square(eta), 0.95)
            roulette = depth + 1 >= self.rr_depth
            throughput_next = dr.select(roulette, throughput_next * dr.rcp(q), throughput_next)
            active_next &= ~roulette | (sampler.next_1d() < q)

            if dr.hint(not primal, mode="scalar"):
                with dr.resume_grad():
                    value = bsdf.eval(ctx, si, bs.wo, active_next)
                    known = dr.detach(value)
                    relative = dr.select(known != 0, value / dr.select(known != 0, known, 1), 1)
                    ahead = dr.select(active_next, dr.detach(L), 0)
                    contribution = Le + ahead * relative
                    if dr.hint(mode == dr.ADMode.Backward, mode="scalar"):
                        dr.backward_from(δL * contribution)
                    else:
                        dr.forward_to(contribution)
                        tangent += dr.grad(contribution)
            throughput = throughput_next
            ray = mi.Ray3f(next_ray)
            depth += 1
            active = active_next

        return L if primal else tangent, valid, [], L


__all__ = ["BasicPRBIntegrator"]
