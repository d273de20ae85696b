# bench/render/prepare.py: writes the scenes that the render suite makes itself; README.md says what they show.
#
#     prepare.py FOLDER
#
# Both sides load the same files. Large ones are kept in a folder beside the suite's, and written where they are missing.
import array
import math
import os
import random
import struct
import sys
import zlib
from xml.etree import ElementTree

SHARED = os.environ.get("UMBEL_SCENES", "../shared/scenes")

HEAD = """<scene version="3.0.0">
<default name="spp" value="16"/>
<integrator type="path"><integer name="max_depth" value="6"/></integrator>
<sensor type="perspective">
    <transform name="to_world"><lookat origin="0,0,3.8" target="0,0,0" up="0,1,0"/></transform>
    <sampler type="independent"><integer name="sample_count" value="$spp"/></sampler>
    <film type="hdrfilm"><integer name="width" value="256"/><integer name="height" value="256"/>
        <rfilter type="box"/></film>
</sensor>
"""
SKY = '<emitter type="constant"/>\n'


def png(path, size, colour):
    """A file of size x size pixels with a pattern of its own."""
    def row(y):
        return b"\0" + bytes(
            int(c * (160 + 95 * ((x * (i + 2) // 16 + y // 16) % 2))) for x in range(size)
            for i, c in enumerate(colour))
    kinds = row(0), row(16)
    rows = b"".join(kinds[y // 16 % 2] for y in range(size))
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def colour():
    return [random.uniform(0.1, 0.9) for _ in range(3)]


def rgb(name="reflectance"):
    return f'<rgb name="{name}" value="{",".join(f"{c:.3f}" for c in colour())}"/>'


def alpha():
    return f'<float name="alpha" value="{random.uniform(0.1, 0.4):.6f}"/>'


def checkers(name):
    return (f'<texture type="checkerboard" name="{name}">{rgb("color0")}{rgb("color1")}'
            '<transform name="to_uv"><scale value="4"/></transform></texture>')


def bitmap(name, folder, inside=""):
    bitmap.count += 1
    file = f"{folder}/texture{bitmap.count}.png"
    png(file, 256, colour())
    return f'<texture type="bitmap" name="{name}"><string name="filename" value="{file}"/>{inside}</texture>'


bitmap.count = 0


def bsdf(type, *inside):
    return f'<bsdf type="{type}">{"".join(inside)}</bsdf>'


def gold(*inside):
    return bsdf("roughconductor", *inside, '<string name="material" value="Au"/>')


def rough_glass(distribution):
    return bsdf("roughdielectric", alpha(), distribution)


BECKMANN = '<string name="distribution" value="beckmann"/>'
GGX = '<string name="distribution" value="ggx"/>'
DIFFUSE = lambda _: bsdf("diffuse", rgb())
HALF = lambda _: bsdf("diffuse", '<rgb name="reflectance" value="0.5,0.5,0.5"/>')
ROUGH = lambda _: gold(alpha())
HALF_ROUGH = lambda _: gold('<float name="alpha" value="0.25"/>')  # rays of one material as of many
TEXTURED = lambda folder: bsdf("diffuse", bitmap("reflectance", folder))
ALPHA_UV = '<float name="alpha_u" value="0.3"/><float name="alpha_v" value="0.1"/>'
MIXED = [
    DIFFUSE,
    TEXTURED,
    lambda _: bsdf("diffuse", checkers("reflectance")),
    lambda _: bsdf("twosided", DIFFUSE(_)),
    lambda f: bsdf("twosided", TEXTURED(f)),
    lambda _: bsdf("twosided", bsdf("diffuse", checkers("reflectance"))),
    lambda _: bsdf("conductor", '<string name="material" value="Cu"/>'),
    lambda _: bsdf("twosided", bsdf("conductor", '<string name="material" value="Ag"/>')),
    ROUGH,
    lambda _: gold(alpha(), GGX),
    lambda _: gold(ALPHA_UV),
    lambda f: gold(bitmap("alpha", f, '<boolean name="raw" value="true"/>')),
    lambda _: gold(alpha(), rgb("specular_reflectance")),
    lambda _: bsdf("twosided", gold(alpha())),
    lambda _: bsdf("twosided", gold(alpha(), GGX)),
    lambda _: bsdf("dielectric", '<float name="int_ior" value="1.4"/>'),
    lambda _: bsdf("dielectric", rgb("specular_transmittance")),
    lambda _: rough_glass(BECKMANN),
    lambda _: rough_glass(GGX),
    lambda _: bsdf("twosided", DIFFUSE(_), ROUGH(_)),
]


def place(scale):
    u = lambda: f"{random.uniform(-1, 1):.3f}"
    return (f'<transform name="to_world"><scale value="{scale}"/><rotate x="1" '
            f'y="{random.random():.2f}" angle="{90 * random.random():.1f}"/>'
            f'<translate value="{u()},{u()},{u()}"/></transform>')


def materials(folder, kinds, count, shapes=64, shape="cube"):
    random.seed(1)
    text = HEAD + SKY
    for k in range(count):
        text += kinds[k % len(kinds)](folder).replace("<bsdf ", f'<bsdf id="b{k}" ', 1) + "\n"
    random.seed(2)
    for i in range(shapes):
        text += (f'<shape type="{shape}">{place(0.2 if shapes <= 64 else 0.06)}'
                 f'<ref id="b{i % count}"/></shape>\n')
    return text + "</scene>\n"


def lights(count, kind):
    random.seed(3)
    text = HEAD + f'<shape type="cube">{place(0.4)}<bsdf type="diffuse"/></shape>\n'
    for _ in range(count):
        value = f'<rgb value="0.1,0.2,0.3" name="{"intensity" if kind == "point" else "radiance"}"/>'
        if kind == "point":
            p = [f'{a}="{random.uniform(-2, 2):.3f}"' for a in "xyz"]
            text += f'<emitter type="point"><point name="position" {" ".join(p)}/>{value}</emitter>\n'
        else:
            text += (f'<shape type="rectangle">{place(0.01)}<emitter type="area">{value}</emitter>'
                     '</shape>\n')
    return text + "</scene>\n"


def town(count):
    """10,000 small lamps above a plain, of which a third faces down; only `count` of them shine."""
    random.seed(4)
    choice = ('<default name="lights" value="auto"/><default name="hide" value="false"/>\n'
              '<string name="light_sampler" value="$lights"/>\n<integrator type="path">'
              '<boolean name="hide_emitters" value="$hide"/>')
    head = HEAD.replace("0,0,3.8", "0,6,-14").replace('<integrator type="path">', choice)
    text = head + bsdf("diffuse").replace("<bsdf", '<bsdf id="grey"')
    grey = '<ref id="grey"/></shape>\n'
    text += ('<shape type="rectangle"><transform name="to_world"><rotate x="1" angle="-90"/>'
             f'<scale value="500"/></transform>{grey}')
    for _ in range(40):
        text += ('<shape type="cube"><transform name="to_world"><scale value="0.6"/><translate value='
                 f'"{random.uniform(-8, 8):.3f},0.6,{random.uniform(-6, 10):.3f}"/></transform>{grey}')
    for k in range(10000):
        x, z = ((i - 50 + random.random()) * 2 for i in (k % 100, k // 100))
        colour = ",".join(f"{random.uniform(2, 20):.2f}" for _ in range(3))
        light = f'<emitter type="area"><rgb name="radiance" value="{colour}"/></emitter>'
        is_lit = count > 1 or k == 5050  # in the middle
        turn = 90 if random.random() < 0.3 or count == 1 else -90
        text += ('<shape type="rectangle"><transform name="to_world"><scale value="0.15"/>'
                 f'<rotate x="1" angle="{turn}"/><translate value="{x:.3f},'
                 f'{random.uniform(2, 5):.3f},{z:.3f}"/></transform>{light if is_lit else ""}{grey}')
    return text + "</scene>\n"


def crowd():
    """100,000 shapes that share 10,000 materials of five types."""
    kinds = [DIFFUSE, ROUGH, lambda _: bsdf("twosided", DIFFUSE(_)), lambda _: rough_glass(GGX),
             lambda _: bsdf("dielectric", f'<float name="int_ior" value="{random.uniform(1.2, 1.8):.4f}"/>')]
    text = materials("", kinds, 10000, 0).replace("</scene>", "")
    parts = []
    for i in range(100000):
        shape = "sphere" if i % 2 else "cube"
        parts.append(f'<shape type="{shape}">{place(0.01)}<ref id="b{i % 10000}"/></shape>\n')
    return text + "".join(parts) + "</scene>\n"


def shared(name, compared=False):
    """A shared scene that can be loaded from anywhere. Opacities are numbers, or the rival refuses them in spectral variants. To be compared, its
    metals have one index for all wavelengths: in spectral variants the rival cuts colours of indices off at 1, and its metals are dark."""
    folder = os.path.abspath(f"{SHARED}/{name}")
    tree = ElementTree.parse(f"{folder}/scene-v3.xml")
    for node in tree.iter():
        if node.get("name") == "filename":
            node.set("value", os.path.join(folder, node.get("value")))
        if node.get("name") == "opacity":
            ElementTree.SubElement(node, "boolean", name="raw", value="true")
        if compared and node.tag == "rgb" and node.get("name") in ("eta", "k"):
            numbers = [float(v) for v in node.get("value").split(",")]
            node.tag = "spectrum"
            node.set("value", f"{sum(numbers) / 3:.5f}")
    return tree


# The middle of rooms: what lamps fill.
ROOMS = {"staircase": ((-2.8, 1.3, -3.1), (1.2, 5.7, 3.1)), "living-room": ((0.6, 0.6, -2.8), (4.0, 2.3, -0.3))}


def with_lamps(name, count, in_town=False):
    """A shared scene in the light of 10,000 tiny lamps, most of which shine upwards; only `count` of them are lit. They are in the room, or
    in a town around it, which is 20 times as long and wide: then one of 50 is in the room."""
    tree = shared(name)
    low, high = ROOMS[name]
    for node in list(tree.iter()):
        for child in [c for c in node if c.tag == "emitter"]:
            node.remove(child)
        if node.tag == "integrator":
            ElementTree.SubElement(node, "boolean", name="hideEmitters", value="$hide")
    root = tree.getroot()
    root.insert(0, ElementTree.Element("string", name="light_sampler", value="$lights"))
    for name, value in (("lights", "auto"), ("hide", "false")):
        root.insert(0, ElementTree.Element("default", name=name, value=value))
    text = [ElementTree.tostring(tree.getroot(), encoding="unicode").replace("</scene>", "")]
    random.seed(5)
    for k in range(10000):
        place = [random.uniform(a, b) for a, b in zip(low, high)] if k else [
            (low[0] + high[0]) / 2, high[1], (low[2] + high[2]) / 2]
        if in_town and k % 50:
            for j in (0, 2):
                place[j] += (place[j] - (low[j] + high[j]) / 2) * 19
        colour = ",".join(f"{random.uniform(2, 20):.2f}" for _ in range(3))
        light = f'<emitter type="area"><rgb name="radiance" value="{colour}"/></emitter>'
        turn = 90 if random.random() < 0.3 or k == 0 else -90
        text.append('<shape type="rectangle"><transform name="to_world"><scale value="0.01"/>'
                    f'<rotate x="1" angle="{turn}"/><translate value="{place[0]:.3f},{place[1]:.3f},'
                    f'{place[2]:.3f}"/></transform>{light if count > 1 or k == 0 else ""}</shape>\n')
    return "".join(text) + "</scene>\n"


# ---- media


def vol(path, size, density, halves=False):
    """A cube of size^3 voxels; density(x, y, z) is for x in [0, 1) in lists, and y and z."""
    with open(path, "wb") as file:
        file.write(b"VOL\3" + struct.pack("<5i6f", 2 if halves else 1, size, size, size, 1, 0, 0, 0, 1, 1, 1))
        places = [i / size for i in range(size)]
        for z in places:
            for y in places:
                row = density(places, y, z)
                file.write(struct.pack(f"<{size}e", *row) if halves else array.array("f", row).tobytes())


def plume(xs, y, z):
    """Thin, and winding upwards through a cube that is empty elsewhere."""
    cx, cz, rings = 0.5 + 0.1 * math.sin(9 * y), 0.5 + 0.1 * math.cos(7 * y), 0.3 + 0.7 * math.sin(40 * y) ** 2
    return [rings * max(0, 1 - math.hypot(x - cx, z - cz) / 0.04) for x in xs]


def cloud(xs, y, z):
    """A dense ball with a wavy surface."""
    waves = lambda x: 0.15 * math.sin(23 * x + 5 * z) * math.sin(19 * y + 3 * x) * math.sin(29 * z + 7 * y)
    return [min(1, max(0, 4 * (0.45 + waves(x) - math.dist((x, y, z), (0.5, 0.5, 0.5))))) for x in xs]


def fog(xs, y, z):
    return [0.5 + 0.25 * (y + z)] * len(xs)


def medium(integrator, body):
    head = HEAD.replace('type="path"', f'type="{integrator}"').replace('"max_depth" value="6"', '"max_depth" value="32"')
    return (head + SKY + '<emitter type="point"><point name="position" x="2" y="3" z="2"/><rgb name="intensity" '
            f'value="20,20,20"/></emitter>\n{body}</scene>\n')


def filled_cube(file, scale, more):
    return ('<shape type="cube"><bsdf type="null"/><medium name="interior" type="heterogeneous"><volume name="sigma_t" '
            f'type="gridvolume"><string name="filename" value="{file}"/><transform name="to_world"><scale value="2"/>'
            f'<translate value="-1,-1,-1"/></transform></volume><float name="scale" value="{scale}"/>{more}</medium></shape>')


def filled_ball(surface, coefficients):
    return (f'<shape type="sphere"><bsdf type="{surface}"/><medium name="interior" type="homogeneous">{coefficients}'
            '<phase type="hg"><float name="g" value="0.3"/></phase></medium></shape>')


def media(large):
    albedo = lambda v: f'<rgb name="albedo" value="{v}"/>'
    return {
        "glass": medium("volpath", filled_ball("dielectric", '<float name="sigma_t" value="2"/>' + albedo("0.9,0.8,0.6"))),
        "cloud": medium("volpath", filled_cube(f"{large}/cloud.vol", 30, '<float name="albedo" value="0.99"/><phase '
                                               'type="hg"><float name="g" value="0.6"/></phase>')),
        "plume": medium("volpath", filled_cube(f"{large}/plume.vol", 40, '<float name="albedo" value="0.8"/>')),
        "spectral": medium("volpathmis", filled_ball("null", '<rgb name="sigma_t" value="0.0625,0.25,1"/><float '
                                                     'name="scale" value="8"/>' + albedo("0.95,0.95,0.95"))),
        "plume-in-fog": medium("volpath", filled_cube(f"{large}/plume.vol", 40, '<float name="albedo" value="0.8"/>')
                               + '<shape type="cube"><transform name="to_world"><scale value="1.001"/></transform><bsdf '
                               'type="null"/><medium name="interior" type="homogeneous"><float name="sigma_t" value="2"/>'
                               '<float name="albedo" value="0.8"/></medium></shape>'),
        "halves": medium("volpath", filled_cube(f"{large}/halves.vol", 1, "")),
    }


# ---- large files


def grid_ply(path, n):
    """A wavy square of n x n cells, two triangles each: 19 bytes a triangle."""
    with open(path, "wb") as file:
        file.write(f"ply\nformat binary_little_endian 1.0\nelement vertex {(n + 1) ** 2}\nproperty float x\n"
                   f"property float y\nproperty float z\nelement face {2 * n * n}\n"
                   "property list uchar int vertex_indices\nend_header\n".encode())
        wave = [0.05 * math.sin(20 * i / n) for i in range(n + 1)]
        for y in range(n + 1):
            row = array.array("f")
            for x in range(n + 1):
                row.extend((2 * x / n - 1, 2 * y / n - 1, wave[x] * wave[y] * 10))
            file.write(row.tobytes())
        face = struct.Struct("<BiiiBiii")
        for y in range(n):
            first = y * (n + 1)
            file.write(b"".join(face.pack(3, i, i + 1, i + n + 1, 3, i + 1, i + n + 2, i + n + 1)
                                for i in range(first, first + n)))


def grid_obj(path, n):
    """The same as text, with normals and texture coordinates."""
    with open(path, "w") as file:
        wave = [0.05 * math.sin(20 * i / n) for i in range(n + 1)]
        for y in range(n + 1):
            file.write("".join(f"v {2 * x / n - 1:.6f} {2 * y / n - 1:.6f} {10 * wave[x] * wave[y]:.6f}\n"
                               f"vt {x / n:.6f} {y / n:.6f}\nvn {wave[x]:.4f} {wave[y]:.4f} 1\n"
                               for x in range(n + 1)))
        corner = lambda i: f"{i}/{i}/{i}"
        for y in range(n):
            first = y * (n + 1) + 1
            for i in range(first, first + n):
                a, b, c, d = (corner(k) for k in (i, i + 1, i + n + 1, i + n + 2))
                file.write(f"f {a} {b} {c}\nf {b} {d} {c}\n")


def texture(path, size):
    png(path, size, (0.9, 0.6, 0.3))


LARGE = {"cloud.vol": (lambda p, n: vol(p, n, cloud), 64), "plume.vol": (lambda p, n: vol(p, n, plume), 128),
         "halves.vol": (lambda p, n: vol(p, n, fog, True), 512), "grid.ply": (grid_ply, 1600), "small.ply": (grid_ply, 4), "grid.obj": (grid_obj, 600),
         "large.png": (texture, 4096), "small.png": (texture, 16)}


def large_files(folder):
    os.makedirs(folder, exist_ok=True)
    for name, (make, size) in LARGE.items():
        path = f"{folder}/{name}"
        if not os.path.exists(path):
            make(path + ".part", size)
            os.replace(path + ".part", path)


def one_mesh(file):
    return HEAD + SKY + f'<shape type="ply"><string name="filename" value="{file}"/></shape></scene>\n'


def one_texture(file):
    return (HEAD + SKY + '<shape type="rectangle"><bsdf type="diffuse"><texture type="bitmap" name="reflectance">'
            f'<string name="filename" value="{file}"/></texture></bsdf></shape></scene>\n')


# ----


def write(folder, name, text):
    with open(f"{folder}/{name}.xml", "w") as file:
        file.write(text)


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    for name, one, many in (("diffuse", HALF, DIFFUSE), ("rough", HALF_ROUGH, ROUGH)):
        for count in (1, 4, 16, 64):
            write(folder, f"{name}-{count}", materials(folder, [many if count > 1 else one], count))
        for count, kind in ((1, one), (1000, many)):
            write(folder, f"{name}-{count}-of-1000", materials(folder, [kind], count, 1000))
    write(folder, "textured-64", materials(folder, [TEXTURED], 64))
    write(folder, "mixed-20", materials(folder, MIXED, len(MIXED)))
    for count in (1, 10000):
        write(folder, f"diffuse-{count}-of-10000", materials(folder, [DIFFUSE], count, 10000))
    for count in (1, 1000, 10000):
        write(folder, f"sphere-{count}", materials(folder, [DIFFUSE], count, count, "sphere"))
        for kind in ("point", "area"):
            write(folder, f"{kind}-{count}", lights(count, kind))
    for count in (1, 10000):
        write(folder, f"town-{count}", town(count))
    write(folder, "crowd", crowd())
    large = os.path.normpath(f"{folder}/../../large")
    large_files(large)
    for name, file in (("large", "grid"), ("small", "small")):
        write(folder, f"{name}-ply", one_mesh(f"{large}/{file}.ply"))
        write(folder, f"{name}-texture", one_texture(f"{large}/{name}.png"))
    for name, text in media(large).items():
        write(folder, f"media-{name}", text)
    for name in ("staircase", "living-room"):
        if os.path.exists(f"{SHARED}/{name}/scene-v3.xml"):
            write(folder, name, ElementTree.tostring(shared(name).getroot(), encoding="unicode"))
            write(folder, f"{name}-compared", ElementTree.tostring(shared(name, True).getroot(), encoding="unicode"))
            for count in (1, 10000):
                write(folder, f"{name}-lamps-{count}", with_lamps(name, count))
                write(folder, f"{name}-town-{count}", with_lamps(name, count, True))


main()
