# tests/oracle/media.py: light in participating media, beside Mitsuba 3's volpath; without them, beside paths.
# usage: media.py UMBEL SCENES
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import mitsuba as mi
    import numpy as np
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(SKIPPED)
from image_test import compare, compare_blocks  # noqa: E402

UMBEL = sys.argv[1]
RES, SPP, IMAGES = 24, 256, 12
mi.set_variant("llvm_ad_rgb")
mi.set_log_level(mi.LogLevel.Error)

# Few samples are much brighter than others: of skewed distributions the t-test would find small means too often. So the light is
# large, and colours of the extinction are close: the rival samples distances for one channel and weights the others by it.
SCENE = """<scene version="3.0.0">
<integrator type="INTEGRATOR"><integer name="max_depth" value="DEPTH"/></integrator>
<sensor type="perspective"><float name="fov" value="35"/>
<transform name="to_world"><lookat origin="0,2,6" target="0,0,0" up="0,1,0"/></transform>CAMERA
<film type="hdrfilm"><integer name="width" value="24"/><integer name="height" value="24"/><rfilter type="box"/></film>
<sampler type="independent"/></sensor>
<medium type="homogeneous" id="fog">FOG</medium>
<shape type="cube">SURFACE</shape>
<shape type="rectangle"><transform name="to_world"><scale value="5"/><rotate x="1" angle="-90"/><translate y="-1.2"/></transform>
<bsdf type="diffuse"/></shape>
<shape type="rectangle"><transform name="to_world"><scale value="3"/><rotate x="1" angle="90"/><translate y="3"/></transform>
<bsdf type="diffuse"/><emitter type="area"><rgb name="radiance" value="1.2,1,.8"/></emitter></shape>
LIGHT</scene>"""
SKY = '<emitter type="constant"><rgb name="radiance" value=".2,.3,.4"/></emitter>'
BULB = '<emitter type="point"><point name="position" x="0.3" y="0.2" z="0.1"/><rgb name="intensity" value="3,4,5"/></emitter>'
NULL = '<bsdf type="null"/><ref name="interior" id="fog"/>'
GLASS = '<bsdf type="roughdielectric"><float name="alpha" value="0.3"/></bsdf><ref name="interior" id="fog"/>'
GREY = '<rgb name="albedo" value=".9,.8,.5"/><float name="sigma_t" value="1.5"/>'
COLOURED = '<rgb name="albedo" value=".5,.8,.9"/><rgb name="sigma_t" value=".9,.7,.5"/><float name="scale" value="1.5"/>'
NOTHING = '<float name="sigma_t" value="0"/>'
ROOM = '<ref name="exterior" id="fog"/>'


def scene(integrator="volpath", fog=GREY, surface=NULL, light=SKY, camera="", depth=-1):
    text = SCENE
    for name, value in (("INTEGRATOR", integrator), ("DEPTH", str(depth)), ("FOG", fog), ("SURFACE", surface), ("LIGHT", light),
                        ("CAMERA", camera)):
        text = text.replace(name, value)
    return text


def rival(text, colour, spp=SPP, images=IMAGES):
    mi.set_variant(f"llvm_ad_{colour}")
    s = mi.load_string(text)
    return np.array([np.array(mi.render(s, spp=spp, seed=1000 + i), dtype=np.float64) for i in range(images)])


def umbel(text, colour, folder, spp=SPP, images=IMAGES, size=(RES, RES)):
    """One scene a seed, so that all are rendered by one process."""
    text = text.replace('<film type="hdrfilm">', '<film type="hdrfilm"><string name="file_format" value="pfm"/>')
    for i in range(images):
        with open(f"{folder}/scene{i}.xml", "w") as f:
            f.write(text.replace('<sampler type="independent"/>',
                                 f'<sampler type="independent"><integer name="seed" value="{i + 1}"/></sampler>'))
    subprocess.run([UMBEL, "render", *[f"{folder}/scene{i}.xml" for i in range(images)], "-q", "-m", f"llvm_{colour}",
                    "--spp", str(spp)], check=True)
    out = np.array([np.array(mi.Bitmap(f"{folder}/scene{i}.pfm"), dtype=np.float64).reshape(*size, -1) for i in range(images)])
    assert images == 1 or np.any(out[0] != out[1]), "seeds make no difference"
    return out


def compare_large(folder):
    text = scene().replace('name="width" value="24"', 'name="width" value="3840"').replace(
        'name="height" value="24"', 'name="height" value="2160"')
    a, b = rival(text, "rgb", 1, 1)[0], umbel(text, "rgb", folder, 1, 1, (2160, 3840))[0]
    return compare_blocks(a, b)


# Ours, and what it is compared with
CASES = {
    "grey fog": (scene(), scene()),
    "coloured fog": (scene(fog=COLOURED), scene(fog=COLOURED)),
    "grey fog around a light, up to four segments": (scene(light=BULB, depth=4), scene(light=BULB, depth=4)),
    "coloured fog behind rough glass": (scene(fog=COLOURED, surface=GLASS), scene(fog=COLOURED, surface=GLASS)),
    "no emitter sampling": (scene(fog=GREY + '<boolean name="sample_emitters" value="false"/>'), scene()),
    "a camera inside fog without end": (scene(surface="<bsdf type='diffuse'/>" + ROOM, light="",
                                              camera='<ref id="fog"/>'),) * 2,
    "emptiness, and paths": (scene(fog=NOTHING), scene("path", fog=NOTHING)),
    "emptiness, and nothing": (scene(fog=NOTHING), scene("path", surface='<bsdf type="null"/>')),
}
failed = False
with tempfile.TemporaryDirectory() as folder:
    for name, (ours, theirs) in CASES.items():
        for colour in ("rgb", "spectral"):
            accepted, line = compare(rival(theirs, colour), umbel(ours, colour, folder))
            failed |= not accepted
            print(f"{'ok  ' if accepted else 'FAIL'} {colour}: {name}: {line}", flush=True)
    accepted, line = compare_large(folder)
    failed |= not accepted
    print(f"{'ok  ' if accepted else 'FAIL'} rgb: grey fog, 3840 x 2160: {line}", flush=True)
sys.exit(failed)
