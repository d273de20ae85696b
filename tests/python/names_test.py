# tests/python/names_test.py: names that scripts ask for: backends, flags, events, details.
import importlib
import re
import warnings

import pytest

import umbel as mi
import umbel.jit as dr
from umbel.jit.auto import Array3f, Event, Float, Int, TensorXf, UInt


@pytest.mark.skipif(dr.has_backend(dr.JitBackend.CUDA), reason="this machine has a GPU")
def test_backends_that_are_not_there_can_be_named():
    assert dr.has_backend(dr.JitBackend.LLVM) and not dr.has_backend(dr.JitBackend.CUDA)
    assert dr.backend_v(float) == dr.JitBackend.Invalid and dr.backend_v(Float) != dr.JitBackend.CUDA
    cuda = importlib.import_module("umbel.jit.cuda.ad")
    with pytest.raises(RuntimeError, match="not there"):
        cuda.Float(1)
    with pytest.raises(AttributeError):
        cuda.NoSuchType


def test_flags_have_the_names_and_defaults_of_scripts():
    on = {"SymbolicLoops", "SymbolicCalls", "SymbolicConditionals", "OptimizeLoops", "OptimizeCalls", "MergeFunctions",
          "ConstantPropagation", "ValueNumbering", "PacketOps", "KernelFreezing"}
    off = {"Debug", "PrintIR", "KernelHistory", "LaunchBlocking", "CompressLoops", "ForbidSynchronization"}
    assert all(dr.flag(dr.JitFlag[n]) for n in on) and not any(dr.flag(dr.JitFlag[n]) for n in off)
    assert dr.KernelType.MkPerm and dr.VarState.Undefined and dr.KernelRecordingMode.Replayed


def test_events_wait_and_measure():
    start, end = Event(), Event(enable_timing=True)
    start.record()
    dr.eval(dr.sqrt(dr.arange(Float, 100_000)))
    end.record()
    end.wait()
    assert end.query() and start.elapsed_time(end) >= 0
    blind = Event(enable_timing=False)
    blind.record()
    with pytest.raises(RuntimeError, match="timing"):
        start.elapsed_time(blind)


def test_types_describe_themselves():
    assert "type=float32" in Array3f.__meta__ and "shape=(3, *)" in Array3f.__meta__
    assert "is_tensor=1" in TensorXf.__meta__ and "is_jit" not in dr.scalar.Array3f.__meta__
    assert dr.AnyArray is dr.ArrayBase and dr.config.PYTHON_VERSION


def test_details():
    d = dr.detail
    before = d.scope(dr.JitBackend.LLVM)
    assert d.new_scope(dr.JitBackend.LLVM) > before
    d.set_scope(dr.JitBackend.LLVM, before)
    assert d.scope(dr.JitBackend.LLVM) == before
    assert d.reduce_identity(Float, dr.ReduceOp.Max)[0] == -float("inf")
    assert d.reduce_identity(UInt, dr.ReduceOp.And)[0] == 2**32 - 1
    assert d.can_scatter_reduce(Float, dr.ReduceOp.Add) and not d.can_scatter_reduce(Float, dr.ReduceOp.Or)
    assert list(d.block_mkperm(UInt(2, 0, 1, 1, 0, 1), 3, 3)) == [1, 2, 0, 4, 3, 5]
    assert d.llvm_version()[0] >= 15
    assert not d.any_symbolic([Float(1), 2]) and len(d.reset([Float(1, 2)])[0]) == 0
    d.check_compatibility([Float(1)], [Float(1, 2)], True, "pair")
    with pytest.raises(RuntimeError, match="inconsistent"):
        d.check_compatibility([Float(1)], [Int(1)], True, "pair")


def test_memory_is_seen_in_place():
    a = Float(1, 2, 3)
    view = a.memview()
    assert view.format == "f" and list(view) == [1, 2, 3]


def test_values_of_all_functions_have_types_of_python():
    # Where the binding of a type of C++ is missing, its name stands there, and every call fails
    from umbel import _core

    def signatures(owner, seen):
        for name, value in vars(owner).items():
            functions = [value.fget, value.fset] if isinstance(value, property) else [value]
            for f in functions:
                for signature in getattr(f, "__nb_signature__", ()):
                    yield f"{owner.__name__}.{name}: {signature[0]}"
            if isinstance(value, type) and value.__module__.startswith("umbel") and value not in seen:
                yield from signatures(value, seen | {value})

    every = list(signatures(_core, frozenset()))
    assert len(every) > 500
    assert [s for s in every if "std::" in s] == []


def test_image_blocks_are_shown_and_lights_have_bounds():
    import umbel as mi
    with mi.set_variant("llvm_ad_rgb"):
        assert "size = [4, 2]" in repr(mi.ImageBlock([4, 2], [0, 0], 3))
        lamp = mi.load_dict({"type": "point", "position": [1, 2, 3]})
        assert list(lamp.bbox().min) == [1, 2, 3] and list(lamp.bbox().max) == [1, 2, 3]


def test_arguments_of_other_types_are_type_errors():
    import umbel as mi
    with mi.set_variant("llvm_ad_rgb"):
        for call in (lambda: mi.load_dict({"type": "diffuse"}).flags("x"), lambda: mi.load_dict({"type": "box"}).eval(object())):
            with pytest.raises(TypeError, match="has a type or size that is not taken here"):
                call()


def test_enumerations_print_as_their_names():
    import umbel as mi
    assert str(mi.LogLevel.Warn) == repr(mi.LogLevel.Warn) == f"{mi.LogLevel.Warn}" == "LogLevel.Warn"
    assert str(dr.FilterMode.Linear) == "FilterMode.Linear" and str(Float(1).state) == "VarState.Literal"
    assert str(mi.BSDFFlags.Diffuse) == "BSDFFlags.Diffuse" and f"{mi.BSDFFlags.Null:04x}" == "0001"
    assert str(mi.RayFlags.Minimal | mi.RayFlags.UV) == str(int(mi.RayFlags.Minimal | mi.RayFlags.UV))
    assert str(mi.Struct.ByteOrder.LittleEndian) == "ByteOrder.LittleEndian"


def test_objects_show_what_they_were_made_with():
    text = str(mi.load_dict({"type": "path", "max_depth": 3, "hide_emitters": True}))
    assert text.startswith("PathIntegrator[\n") and all(
        row in text for row in ("max_depth = 3,", "rr_depth = 5", "hide_emitters = True"))
    text = repr(mi.load_dict({"type": "direct", "bsdf_samples": 3}))
    assert text.startswith("DirectIntegrator[\n") and "emitter_samples = 1" in text and "bsdf_samples = 3" in text
    assert "file_format = openexr" in str(mi.load_dict({"type": "hdrfilm"}))


def test_textures_of_both_precisions_have_names():
    import umbel as mi
    assert mi.Texture2d is dr.auto.Texture2f64 and mi.Texture2f is dr.auto.Texture2f
    with mi.set_variant("llvm_rgb_double"):
        assert mi.Texture3f is mi.Texture3d is dr.auto.Texture3f64


def test_array_types_keep_what_vectors_mean():
    import umbel as mi
    assert dr.array_t(mi.Vector3f) is mi.Vector3f and dr.array_t(dr.auto.Complex2f) is dr.auto.Array2f
    assert dr.array_t(TensorXf) is Float


def test_flags_that_stay_as_they_are_say_so():
    for name, wanted in (("PrintIR", True), ("PacketOps", False)):
        f = dr.JitFlag[name]
        with pytest.warns(UserWarning, match=f"{name} stays {not wanted}"):
            dr.set_flag(f, wanted)
        assert dr.flag(f) is not wanted
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dr.set_flag(f, not wanted)
    with pytest.raises(ValueError, match="cannot be set"):
        dr.set_flag(dr.JitFlag.SymbolicScope, True)


def test_ranges_and_marks_are_lines_of_the_log(capfd):
    level = dr.log_level()
    dr.set_log_level(dr.LogLevel.Info)
    try:
        with dr.profile_range("roots"):
            dr.eval(dr.sqrt(dr.arange(Float, 1000)))
        dr.profile_mark("here")
        with dr.profile_enable(False):
            dr.profile_mark("not this")
    finally:
        dr.set_log_level(level)
    dr.profile_mark("nor this")
    lines = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"roots: \d+\.\d+ s", lines[0]) and lines[1:] == ["here"]


@pytest.mark.parametrize("plugin, name", [
    ("spot", "SpotLight"), ("directional", "DirectionalEmitter"), ("plastic", "SmoothPlastic"), ("roughplastic", "RoughPlastic"),
    ("principled", "Principled"), ("bsdf/hair", "Hair"), ("hg", "HGPhaseFunction"), ("isotropic", "IsotropicPhaseFunction"),
    ("homogeneous", "HomogeneousMedium"), ("constvolume", "ConstVolume"), ("volpath", "VolumetricPathIntegrator"),
    ("multijitter", "MultijitterSampler"), ("orthographic", "OrthographicCamera"), ("disk", "Disk")])
def test_objects_tell_the_names_of_mitsubas_classes(plugin, name):
    o = mi.load_dict({"type": plugin})
    assert o.class_name() == name and str(o).startswith(name + "[")
