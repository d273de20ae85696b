"""Path replay backpropagation [Vicini 2021] with next event estimation, in Python: what the plugin `prb` does in C++."""
import umbel as mi
import umbel.jit as dr
from .common import RBIntegrator, mis_weight


class PRBIntegrator(RBIntegrator):
    """A path tracer that combines light and BSDF sampling; a base for variations of it. A basic one does without lights'
    samples and roulette."""
    is_basic = False

    @dr.syntax
    def sample(self, mode, scene, sampler, ray, δL=None, state_in=None, active=True, **kwargs):
        """See RBIntegrator."""
        primal, full = mode == dr.ADMode.Primal, not self.is_basic
        ctx = mi.BSDFContext()
        depth, eta = mi.UInt32(0), mi.Float(1)
        L = mi.Spectrum(0 if primal else state_in)  # gathered so far; when differentiating, what lies ahead
        tangent, throughput = mi.Spectrum(0), mi.Spectrum(1)
        δL = mi.Spectrum(δL if δL is not None else 0)
        ray, active, valid = mi.Ray3f(ray), mi.Bool(active), mi.Bool(False)
        if dr.hint(self.hide_emitters, mode="scalar"):
            ray = scene._past_lights(ray, active)  # what is behind them is seen in their place
        else:
            valid = mi.Bool(scene.environment() is not None)
        prev, prev_pdf, prev_delta = dr.zeros(mi.Interaction3f), mi.Float(1), mi.Bool(True)
        if dr.hint(self.max_depth == 0, mode="scalar"):
            active &= False

        while dr.hint(active, label="Path Replay Backpropagation"):
            si = scene.ray_intersect(ray, active)
            bsdf = si.bsdf(ray)

            # Light that the surface, or the environment, emits towards us
            sees_light = active & valid if self.hide_emitters else active
            mis = mi.Float(1)
            if dr.hint(full, mode="scalar"):
                ds = mi.DirectionSample3f(scene, si, prev)
                mis = mis_weight(prev_pdf, scene.pdf_emitter_direction(prev, ds, ~prev_delta))
                mis = dr.select(prev_delta, 1, mis)
            with dr.resume_grad(when=not primal):
                near = throughput * mis * si.emitter(scene).eval(si, sees_light)

            # A direction towards a light, if the surface scatters in more than single directions
            active_next = active & si.is_valid() & (depth + 1 < self.max_depth)
            if dr.hint(full, mode="scalar"):
                active_light = active_next & mi.has_flag(bsdf.flags(), mi.BSDFFlags.Smooth)
                ds, light = scene.sample_emitter_direction(si, sampler.next_2d(), True, active_light)
                active_light &= ds.pdf != 0
                with dr.resume_grad(when=not primal):
                    if dr.hint(not primal, mode="scalar"):
                        value = scene.eval_emitter_direction(si, ds, active_light)
                        light = dr.select((ds.pdf != 0) & (light != 0), value / dr.select(ds.pdf != 0, ds.pdf, 1), 0)
                    wo = si.to_local(ds.d)
                    bsdf_value, bsdf_pdf = bsdf.eval_pdf(ctx, si, wo, active_light)
                    light_mis = dr.select(ds.delta, 1, mis_weight(ds.pdf, bsdf_pdf))
                    near += dr.select(active_light, throughput * light_mis * bsdf_value * light, 0)

            bs, weight = bsdf.sample(ctx, si, sampler.next_1d(), sampler.next_2d(), active_next)
            L = L + dr.detach(near) if primal else L - dr.detach(near)
            passes = active_next & mi.has_flag(bs.sampled_type, mi.BSDFFlags.Null)
            valid |= active & si.is_valid() & ~passes

            # On along the sampled direction
            next_ray = si.spawn_ray(si.to_world(bs.wo))
            throughput_next = throughput * weight
            eta *= dr.select(active_next, bs.eta, 1)
            active_next &= dr.any(throughput_next != 0)
            delta = mi.has_flag(bs.sampled_type, mi.BSDFFlags.Delta)
            if dr.hint(full, mode="scalar"):
                q = dr.minimum(dr.max(throughput_next) * dr.square(eta), 0.95)
                roulette = depth + 1 >= self.rr_depth
                throughput_next = dr.select(roulette, throughput_next * dr.rcp(q), throughput_next)
                active_next &= ~roulette | (sampler.next_1d() < q)

            if dr.hint(not primal, mode="scalar"):
                with dr.resume_grad():
                    value = dr.select(delta, bsdf.eval_delta(ctx, si, bs, active_next), bsdf.eval(ctx, si, bs.wo, active_next))
                    known = dr.detach(value)
                    relative = dr.select(known != 0, value / dr.select(known != 0, known, 1), 1)
                    ahead = dr.select(active_next, dr.detach(L), 0)
                    contribution = near + ahead * relative
                    if dr.hint(mode == dr.ADMode.Backward, mode="scalar"):
                        dr.backward_from(δL * contribution)
                    else:
                        dr.forward_to(contribution)
                        tangent += dr.grad(contribution)
            prev = dr.detach(mi.Interaction3f(si))
            prev_pdf, prev_delta = bs.pdf, delta
            throughput = throughput_next
            ray = mi.Ray3f(next_ray)
            depth += 1
            active = active_next

        return L if primal else tangent, valid, [], L


__all__ = ["PRBIntegrator"]
