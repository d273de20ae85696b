"""Materials from pictures: how rough a metal is, texel by texel, and what a translucent slab is made of, voxel by voxel."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
long = mi.ad.report.long_form()  # --long: more texels and voxels, larger pictures
n, size, price = (16, 96, 1e-3) if long else (8, 32, 0)  # the price of differences, without which noise of pictures is learnt
film = {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}


def fit(folder, title, make, key, truth, start, lr, steps, bounds, spp):
    """The parameter whose images are those of the truth; its error before and after."""
    target = mi.render(make(truth), spp=1024, seed=1000)
    scene = make(start)
    params = mi.traverse(scene)
    first = mi.render(scene, spp=256)
    opt = mi.ad.Adam(lr=lr, params={key: params[key]})
    opt.set_constraint(key, bounds)
    opt.set_schedule(mi.ad.schedules.exponential(steps, .2))
    losses = []
    with mi.ad.report.Watch() as watch:
        for i in range(steps):
            params.update(opt)
            image = mi.render(scene, params, spp=spp, seed=i)
            loss = mi.ad.losses.relative_l2(image, target, .1)
            dr.backward(loss + price * mi.ad.regularizers.total_variation(opt[key]))
            opt.step()
            losses.append(np.array(loss).item())
            watch.iteration()
        watch.check()
    params.update(opt)
    mi.ad.report.Report(folder, title).write(losses, [[first, mi.render(scene, spp=256), target]])
    found = np.array(opt[key]).reshape(truth.shape)
    before, after = np.abs(start - truth).mean(), np.abs(found - truth).mean()
    print(f"{title}: loss {losses[0]:.4g} -> {np.mean(losses[-5:]):.4g}, error {before:.4g} -> {after:.4g}")
    return before, after


# ---- A metal plate, polished in stripes, below two lamps
stripes = np.where(np.arange(n) % 4 < 2, .15, .45)[None, :, None].repeat(n, 0).astype(np.float32)


def plate(alpha):
    lamp = lambda x: {"type": "rectangle", "to_world": T().look_at([x, 2, 3], [0, 0, 0], [0, 1, 0]).scale(.6), "emitter": {
        "type": "area", "radiance": 4.}}
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prb", "max_depth": 3}, "sky": {"type": "constant", "radiance": .1},
        "sensor": {"type": "perspective", "fov": 30, "to_world": T().look_at([0, -2, 4], [0, 0, 0], [0, 1, 0]), "film": film},
        "left": lamp(-1.5), "right": lamp(1.5),
        "plate": {"type": "rectangle", "bsdf": {"type": "roughconductor", "distribution": "ggx", "alpha": {
            "type": "bitmap", "data": mi.TensorXf(alpha), "raw": True, "filter_type": "bilinear"}}}})


start = np.full_like(stripes, .3)
before, after = fit("build/metal", "How rough a metal is", plate, "plate.bsdf.alpha.data", stripes, start, .02, long or 60, (.05, .6), 16)
assert after < .5 * before

# ---- A slab of something like wax: what of the light it scatters, by colour, so that it looks as a picture would
albedo = np.full((2, n, n, 3), .6, np.float32)
albedo[:, n // 4:-n // 4, n // 4:-n // 4] = [.9, .5, .2]


def slab(values):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prbvolpath", "max_depth": 6, "rr_depth": 100}, "sky": {"type": "constant"},
        "sensor": {"type": "perspective", "fov": 28, "to_world": T().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]), "film": film},
        "slab": {"type": "cube", "to_world": T().scale([1, 1, .2]), "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "scale": 8., "sigma_t": {"type": "constvolume", "value": 1.}, "albedo": {
                "type": "gridvolume", "grid": mi.VolumeGrid(values), "to_world": T().translate([-1, -1, -.2]).scale([2, 2, .4])}}}})


start = np.full_like(albedo, .7)
before, after = fit("build/slab", "A translucent slab", slab, "slab.interior_medium.albedo.data", albedo, start, .03, long or 40, (.05, .98), 8)
assert after < .8 * before
