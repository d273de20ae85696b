# tests/python/cuda_test.py: Python on the backend `cuda`, on a GPU or on the machine of tests/cuda_machine.
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("cuda_ad_rgb")
assert dr.has_backend("cuda") and dr.backend_v(mi.Float) == dr.JitBackend.CUDA

# Arrays, sums, derivatives
x = dr.arange(mi.Float, 1000)
assert abs(dr.sum(dr.sqrt(x))[0] - np.sqrt(np.arange(1000)).sum()) < 0.01
a = mi.Float(np.arange(5, dtype=np.float32))
assert (a * 2).numpy().tolist() == [0, 2, 4, 6, 8]
assert mi.TensorXf(np.ones((2, 3))).numpy().shape == (2, 3)
dr.enable_grad(a)
dr.backward(dr.sum(a * a))
assert dr.grad(a).numpy().tolist() == [0, 2, 4, 6, 8]

# Memory of the device, given to another library and taken from it without a copy
class Other:
    def __init__(self, v): self.v = v
    def __dlpack_device__(self): return self.v.__dlpack_device__()
    def __dlpack__(self, stream=None): return self.v.__dlpack__(stream=stream)

b = mi.Float(dr.detach(a) + 1)
assert b.__dlpack_device__() == (2, 0)
shared = mi.Float(Other(b))
assert (shared * 10).numpy().tolist() == [10, 20, 30, 40, 50] and shared.numpy().tolist() == [1, 2, 3, 4, 5]
assert mi.UInt(Other(dr.arange(mi.UInt, 3))).numpy().tolist() == [0, 1, 2]
del b
assert (shared + 1).numpy().tolist() == [2, 3, 4, 5, 6]

from umbel.jit.cuda import Float
assert Float is mi.Float

# What kernels take of the device, and which one it is
with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
    dr.kernel_history_clear()
    dr.eval(dr.sqrt(dr.arange(mi.Float, 1000) + 3))
    kernel, = dr.kernel_history([dr.KernelType.JIT])
assert kernel["registers"] > 0 and kernel["local_bytes"] >= 0 and 0 < kernel["occupancy"] <= 1
assert dr.detail.cuda_version() >= (11, 0) and dr.detail.cuda_compute_capability() >= 70

# Memory of the device is told, and given back
large = dr.arange(mi.Float, 1 << 20) + 1
dr.eval(large)
dr.sync_thread()
device, = dr.memory_stats()["devices"]
assert device["number"] == 0 and device["name"] in dr.whos(True)
assert device["in_use"] >= 4 << 20 and device["peak"] >= device["in_use"] and device["free"] <= device["total"] - (4 << 20)
assert dr.detail.malloc_watermark(dr.JitBackend.CUDA) == device["peak"]
del large
kept, = dr.memory_stats()["devices"]
assert kept["in_use"] <= device["in_use"] - (4 << 20) and kept["cached"] >= device["cached"] + (4 << 20)
dr.flush_malloc_cache()
gone, = dr.memory_stats()["devices"]
assert gone["cached"] == 0 and gone["free"] > kept["free"]
print("passed")
"""


@pytest.fixture(autouse=True, params=["any"])
def variant():  # the process that the test starts has its own
    pass


def run(script, only_on_the_machine=False, **variables):
    """A script on the machine of the tests, or on this one's GPU; it must print "passed"."""
    import umbel
    machine = pathlib.Path(umbel.__file__).parents[2] / "cuda-machine"
    environment = dict(os.environ, UMBEL_CACHE="", **variables)
    if (machine / "libcuda.so.1").exists():
        environment["LD_LIBRARY_PATH"] = str(machine)
    elif only_on_the_machine:
        pytest.skip("no machine of the tests")
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    if not only_on_the_machine and "llvm variants need no GPU" in result.stderr:
        pytest.skip("neither a GPU nor the machine of the tests")
    assert result.returncode == 0 and "passed" in result.stdout, result.stderr


def test_arrays_are_computed_and_shared_on_the_device():
    run(SCRIPT)


SHARED = """
import ctypes
import time
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("cuda_ad_rgb")
N = 1 << 16
cuda = ctypes.CDLL("libcuda.so.1")  # whose memory is the host's

# What the user has queued reads the memory although the capsule is gone, and something else wants it
Work, kept = ctypes.CFUNCTYPE(None, ctypes.c_void_p), []
for stream in (None, 1, 0x77):  # of numbers that are no default stream nothing can be asked later: all are waited for
    a = dr.arange(mi.UInt, N) + 7
    capsule = a.__dlpack__(stream=stream)
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
    address = ctypes.cast(tensor, ctypes.POINTER(ctypes.c_void_p))[0]  # the first field: the data
    seen = []

    @Work
    def read(_):
        time.sleep(0.05)
        seen.append(np.frombuffer(ctypes.string_at(address, 4 * N), np.uint32))
    kept.append(read)
    cuda.cuLaunchHostFunc(None, read, None)
    del a, capsule
    b = dr.full(mi.UInt, 3, N) + dr.opaque(mi.UInt, 1)
    dr.eval(b)
    assert b.numpy()[0] == 4
    while not seen:
        time.sleep(0.001)
    assert np.array_equal(seen[0], np.arange(N) + 7), stream

# Memory of others goes back when kernels have read it
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int), ("device", ctypes.c_int), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", Work)]

memory, shape, gone = np.arange(N, dtype=np.uint32), (ctypes.c_int64 * 1)(N), []

@Work
def deleter(_):
    memory[:] = 1  # somebody else's now
    gone.append(True)

class Other:
    tensor = Tensor(memory.ctypes.data, 2, 0, 1, 1, 32, 1, shape, None, 0, None, deleter)
    def __dlpack_device__(self): return (2, 0)
    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

shared = mi.UInt(Other())
x = dr.zeros(mi.UInt, N)
for i in range(64):
    x = x + shared * dr.opaque(mi.UInt, i)
dr.eval(x)
del shared
while not gone:
    mi.UInt(np.zeros(3, np.uint32))  # takes something, and lets go of what nobody holds any more
assert np.array_equal(x.numpy(), np.arange(N, dtype=np.uint32) * np.uint32(63 * 32))

# What is asked for, and what there is not
a = dr.arange(mi.Float, 4) + 1
n = np.from_dlpack(type("Host", (), {"__dlpack__": lambda s, **k: a.__dlpack__(dl_device=(1, 0)), "__dlpack_device__": lambda s: (1, 0)})())
assert n.tolist() == [1, 2, 3, 4]
class Copy:
    def __dlpack_device__(self): return a.__dlpack_device__()
    def __dlpack__(self, stream=None): return a.__dlpack__(stream=stream, copy=True)
other = mi.Float(Copy())
dr.scatter(other, 9, mi.UInt(0))
assert other.numpy()[0] == 9 and a.numpy()[0] == 1
a = dr.arange(mi.UInt, 4)  # which a copy by its own numbers would be
copied = mi.UInt(Copy())
dr.scatter(copied, 9, mi.UInt(0))
assert copied.numpy()[0] == 9 and a.numpy()[0] == 0
a = dr.arange(mi.Float, 4) + 1
try:
    mi.Point2f(a, a).__dlpack__(copy=False)
    raise AssertionError("two arrays in one place")
except BufferError:
    pass
for wrong in ({"dl_device": (2, 1)}, {"dl_device": (1, 0), "copy": False}):
    try:
        a.__dlpack__(**wrong)
        raise AssertionError(wrong)
    except BufferError:
        pass
try:
    a.__dlpack__(stream="1")
    raise AssertionError("a stream that is none")
except TypeError:
    pass
print("passed")
"""


def test_shared_memory_is_used_again_when_its_users_are_done():
    run(SHARED, only_on_the_machine=True)


DEVICES = """
import subprocess
import sys
import umbel as mi
import umbel.jit as dr

mi.set_variant("cuda_ad_rgb")
number = lambda a: a.__dlpack_device__()[1]
make = lambda: dr.arange(mi.Float, 4) + 1
scene = mi.load_dict({"type": "scene", "integrator": {"type": "direct"}, "light": {"type": "constant", "radiance": 3.0},
                      "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 2, "height": 2}}})
a = make()
assert number(a) == 0
with mi.set_device(1):
    b = make()
    assert number(b) == 1 and b.numpy().tolist() == [1, 2, 3, 4]
    assert mi.variant() == "cuda_ad_rgb"
    mi.mueller.absorber(0.5)  # of a variant like this one, without polarization
    image = mi.render(scene, spp=1)  # where the scene is
    assert number(image) == 0 and abs(image.numpy() - 3).max() < 1e-4
    try:
        dr.eval(a + b)
        raise AssertionError("two devices in one expression")
    except RuntimeError:
        pass
assert number(make()) == 0
with mi.set_device(0):  # the same by its number
    assert (a + make()).numpy().tolist() == [2, 4, 6, 8]
try:
    mi.set_device(7)
    raise AssertionError("there are two")
except dr.DeviceError as e:
    assert "there is no CUDA device 7: the driver knows 2" in str(e)
assert number(make()) == 0
try:
    mi.set_device(-1)
    raise AssertionError("no number of a device")
except ValueError:
    pass
assert [d["number"] for d in dr.memory_stats()["devices"]] == [0, 1]

test = subprocess.run([sys.executable, "-m", "umbel", "selftest", "-m", "cuda_rgb", "--device", "7"], capture_output=True, text=True)
assert test.returncode == 2 and "there is no CUDA device 7" in test.stderr, test
print("passed")
"""


def test_devices_are_chosen_by_number():
    run(DEVICES, only_on_the_machine=True)


REFUSED = """
import os
import umbel as mi
import umbel.jit as dr
from umbel.jit.cuda import Float  # scripts may import what they do not use

mi.set_variant("llvm_ad_rgb")
try:
    mi.set_variant("cuda_ad_rgb")
    raise AssertionError("nothing was raised")
except dr.DeviceError as e:
    message = str(e)
assert os.environ["EXPECTED"] in message and "the llvm variants need no GPU" in message, message
assert not dr.has_backend("cuda") and not any(v.startswith("cuda") for v in mi.variants())
try:
    Float(1)
    raise AssertionError("nothing was raised")
except dr.DeviceError as e:
    assert "umbel.jit.llvm or auto" in str(e)
assert mi.variant() == "llvm_ad_rgb" and dr.sum(dr.arange(mi.Float, 4))[0] == 6
mi.set_variant("cuda_ad_rgb", "interp_rgb")  # the first of those that exist
assert mi.variant() == "interp_rgb"
print("passed")
"""


@pytest.mark.parametrize("machine, message", [("no device", "no CUDA device"), ("none visible", "the driver knows 0"),
                                              ("old driver", "is for CUDA 10.2, and 11.0 is the least"),
                                              ("old card", "has compute capability 6.0, and 7.0 is the least")])
def test_machines_that_cannot_run_kernels_say_why_and_go_on_without(machine, message):
    run(REFUSED, only_on_the_machine=True, UMBEL_CUDA_MACHINE=machine, EXPECTED=message)


def test_a_variant_without_its_device_leaves_the_one_before():
    import umbel.jit as dr
    if dr.has_backend("cuda"):
        pytest.skip("this machine has a device")
    script = ("import umbel as mi, umbel.jit as dr\n"
              "mi.set_variant('llvm_ad_rgb')\n"
              "try: mi.set_variant('cuda_ad_rgb')\n"
              "except dr.DeviceError as e: print(e)\n"
              "print(mi.variant(), dr.sum(dr.arange(mi.Float, 4)))\n")
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120).stdout
    assert "llvm variants need no GPU" in out and "llvm_ad_rgb [6]" in out
