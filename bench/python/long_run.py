# bench/python/long_run.py: ten thousand renders with changing parameters: what grows?
import time

from render_rows import COLOURS, cornell_box


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


def define_long_run(mi, dr, row):
    measured = {}

    def measure():
        if measured:
            return measured
        mi.set_variant("llvm_ad_rgb")
        scene = cornell_box(mi, 16, "path")
        params = mi.traverse(scene)

        def once(k):
            params[COLOURS[k % 4]] = mi.Color3f(.1 + .8 * (k % 97) / 97, .5, .5)
            params.update()
            image = mi.render(scene, spp=1, seed=k)
            dr.eval(image)
            dr.sync_thread()

        def span(first, last):
            times = []
            for k in range(first, last):
                begin = time.perf_counter()
                once(k)
                times.append(time.perf_counter() - begin)
            return sorted(times)[len(times) // 2]

        span(0, 100)
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            dr.kernel_history_clear()
            early = span(100, 1100)
            memory = resident()
            kernels = {k["hash"] for k in dr.kernel_history() if k["type"] == dr.KernelType.JIT and not k["cache_hit"]}
        span(1100, 9000)
        late = span(9000, 10000)
        measured.update(time=late / early, memory=resident() / memory, kernels=len(kernels))
        return measured

    @row("10000 renders, time growth", "x")
    def growth():
        return measure()["time"]

    @row("10000 renders, memory growth", "x")
    def memory():
        return measure()["memory"]

    @row("10000 renders, kernels", "kernels")
    def kernels():
        return measure()["kernels"]
