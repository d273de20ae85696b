# tests/python/parser_test.py: scenes as lists of nodes: reading, changing, loading and writing them.
import numpy as np
import pytest

import umbel as mi
from umbel import parser

T = mi.Properties.Type
SCENE = """<scene version="3.0.0">
    <default name="r" value="2"/>
    <bsdf type="diffuse" id="red"><rgb name="reflectance" value="0.8 0.1 0.1"/></bsdf>
    <shape type="sphere">
        <float name="radius" value="$r"/>
        <transform name="to_world"><rotate y="1" angle="30"/><translate x="1"/></transform>
        <ref name="bsdf" id="red"/>
    </shape>
</scene>"""


@pytest.fixture
def config(variant): return parser.ParserConfig(variant)


def children(state, node):
    return [state.nodes[v.index()] for _, v in node.props.items() if isinstance(v, mi.Properties.ResolvedReference)]


def test_nodes_come_in_order_with_their_values(config):
    s = parser.parse_string(config, SCENE, r=3)
    assert [n.type.name for n in s.nodes] == ["Scene", "BSDF", "Shape"] and s.id_to_index == {"red": 1}
    p = s.nodes[2].props
    assert p["radius"] == 3.0 and p.type("bsdf") is T.Reference and p.type("to_world") is T.Transform
    assert np.allclose(p["to_world"].numpy(), (mi.Transform4f().translate([1, 0, 0]) @ mi.Transform4f().rotate([0, 1, 0], 30)).numpy())


def test_dictionaries_give_the_same_nodes(config):
    d = {"type": "scene", "red": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.8, 0.1, 0.1]}},
         "ball": {"type": "sphere", "radius": 2.0, "bsdf": {"type": "ref", "id": "red"}}}
    s = parser.parse_dict(config, d)
    assert s.node_paths == ["root", "red", "ball"] and s.nodes[1] == parser.parse_string(config, SCENE).nodes[1]


@pytest.mark.parametrize("content, text", [
    ("<float name='a' value='x'/>", r"^string:2: scene: parameter \"a\": \"x\" is not a number"),
    ("<float name='a'/>", "lacks the attribute \"value\""), ("<nothing/>", "the element <nothing> is unknown"),
    ("<float name='a' value='1' b='2'/>", "has no attribute \"b\""), ("<scale value='2'/>", "<scale> is unknown here"),
    ("<float name='a' value='$z'/>", r"\$z is not defined"), ("<include filename='none.xml'/>", "none.xml"),
    ("<spectrum name='s' value='500:1, 400:2'/>", "increas"), ("<ref id='a'/><bsdf type='diffuse' id='a'/><bsdf type='null' id='a'/>",
     'the id "a" is already taken')])
def test_errors_say_where_and_what(config, content, text):
    with pytest.raises(RuntimeError, match=text):
        parser.parse_string(config, f'<scene version="3.0.0">\n{content}</scene>')


def test_an_unused_definition_is_an_error(config):
    with pytest.raises(RuntimeError, match=r"q=1: the scene does not use \$q"):
        parser.parse_string(config, SCENE, q=1)
    config.unused_parameters = mi.LogLevel.Debug
    assert parser.parse_string(config, SCENE, q=1) == parser.parse_string(config, SCENE)


def test_names_in_files_are_those_of_load_string(config):
    # ${name} and $$, which only one of two readers knew
    text = SCENE.replace('"$r"', '"${r}.5"').replace("</scene>", '<bsdf type="diffuse" id="a$$b"/></scene>')
    s = parser.parse_string(config, text)
    assert s.nodes[2].props["radius"] == 2.5 and "a$b" in s.id_to_index
    assert 'id="a$$b"' in parser.write_string(s)


OLD = '''<scene version="0.5.0"><shape type="sphere"><bsdf type="lambertian"><texture type="bitmap" name="reflectance">
    <string name="filename" value="a.png"/><string name="filterType" value="nearest"/><float name="gamma" value="1"/>
    <float name="uscale" value="2"/><float name="voffset" value="0.5"/></texture></bsdf></shape></scene>'''


def test_upgrades_are_those_of_the_loader(config):
    s = parser.parse_string(config, OLD)
    assert s.nodes[2].props.plugin_name() == "lambertian" and "filterType" in s.nodes[3].props
    parser.transform_upgrade(config, s)
    texture = s.nodes[3].props
    assert s.nodes[2].props.plugin_name() == "diffuse" and texture["filter_type"] == "nearest" and texture["raw"] is True
    want = mi.ScalarTransform4f().translate([0, 0.5, 0]) @ mi.ScalarTransform4f().scale([2, 1, 1])
    assert np.allclose(texture["to_uv"].numpy(), want.numpy())
    text = parser.write_string(s)
    parser.transform_upgrade(config, s)
    assert parser.write_string(s) == text and parser.parse_string(config, text) == s


def test_values_that_scripts_cannot_hold_survive(config):
    text = '''<scene version="3.0.0"><emitter type="constant"><blackbody name="radiance" temperature="5000K"/></emitter>
        <sensor type="perspective"><animation name="to_world"><transform time="0"/><transform time="1"><translate x="1"/>
        </transform></animation></sensor></scene>'''
    s = parser.parse_string(config, text)
    assert s.nodes[2].props.plugin_name() == "blackbody" and s.nodes[2].props["temperature"] == 5000
    written = parser.write_string(s)
    assert "<animation" in written and parser.parse_string(config, written) == s
    assert len(parser.instantiate(config, s).sensors()) == 1


def test_included_files_are_looked_for_beside_their_own(config, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.xml").write_text('<scene version="3.0.0"><include filename="ball.xml"/></scene>')
    (tmp_path / "sub" / "ball.xml").write_text('<shape version="3.0.0" type="sphere"/>')
    (tmp_path / "main.xml").write_text('<scene version="3.0.0"><include filename="sub/part.xml"/></scene>')
    s = parser.parse_file(config, tmp_path / "main.xml")
    assert [n.props.plugin_name() for n in children(s, s.root)] == ["sphere"]


def test_references_are_resolved_and_circles_found(config):
    s = parser.parse_string(config, SCENE)
    parser.transform_resolve(config, s)
    assert s.nodes[2].props["bsdf"].index() == 1
    circle = '<scene version="3.0.0"><shape type="s" id="a"><ref id="b"/></shape><shape type="s" id="b"><ref id="a"/></shape></scene>'
    with pytest.raises(RuntimeError, match='shape "a" .*contains itself'):
        parser.transform_resolve(config, parser.parse_string(config, circle))


def test_equal_materials_become_one(config):
    grey = {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.5, 0.5, 0.5]}}
    s = parser.parse_dict(config, {"type": "scene", "a": {"type": "sphere", "bsdf": grey}, "b": {"type": "sphere", "bsdf": grey}})
    parser.transform_merge_equivalent(config, s)
    a, b = children(s, s.root)
    assert a is not b and children(s, a)[0] is children(s, b)[0]


def test_a_changed_scene_loads(config):
    s = parser.parse_string(config, SCENE)
    s.nodes[1].props["reflectance"] = mi.ScalarColor3f(0.1, 0.2, 0.3)
    parser.transform_all(config, s)
    scene = parser.instantiate(config, s)
    assert np.allclose(np.ravel(mi.traverse(scene)["red.reflectance.value"]), [0.1, 0.2, 0.3])
    with pytest.raises(RuntimeError, match=r"^string:3: bsdf \"red\" \(diffuse\): unknown parameter \"nonsense\""):
        s.nodes[1].props["nonsense"] = 1
        parser.instantiate(config, s)


@pytest.mark.parametrize("steps, tags", [
    ([], []), (["translate"], ["<translate"]), (["scale"], ["<scale"]), (["scale", "rotate", "translate"],
     ["<scale", "<rotate y", "<translate"]), (["rotate", "shear"], ["<matrix"])])
def test_written_scenes_read_the_same(config, steps, tags):
    make = {"translate": mi.ScalarTransform4f().translate([1, 2, 0]), "scale": mi.ScalarTransform4f().scale(2.0),
            "rotate": mi.ScalarTransform4f().rotate([0, 1, 0], 30),
            "shear": mi.ScalarTransform4f([[1, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])}
    to_world = mi.ScalarTransform4f()
    for step in steps:
        to_world = make[step] @ to_world
    d = {"type": "scene", "light": {"type": "point", "intensity": {"type": "spectrum", "value": [(400, 0.5), (500, 0.25)]}},
         "film": {"type": "hdrfilm", "width": 64, "height": 32}, "ball": {"type": "sphere", "to_world": to_world}}
    s = parser.parse_dict(config, d)
    text = parser.write_string(s)
    back = parser.parse_string(config, text)
    assert all(t in text for t in tags) and '"$resx"' in text and ("<transform" in text) == bool(tags)
    assert "<!-- Shapes -->" in parser.write_string(s, add_section_headers=True)
    read = back.nodes[3].props.get("to_world", mi.ScalarTransform4f())
    assert np.allclose(read.numpy(), to_world.numpy(), atol=1e-6) and list(back.nodes)[:3] == list(s.nodes)[:3]


def test_resources_are_folders_of_a_dictionary(tmp_path):
    mi.Bitmap(np.zeros((2, 2, 3), np.float32)).write(tmp_path / "picture_of_this_test.exr")
    ball = {"type": "sphere", "bsdf": {"type": "diffuse", "reflectance": {"type": "bitmap", "filename": "picture_of_this_test.exr"}}}
    with pytest.raises(RuntimeError):
        mi.load_dict({"type": "scene", "ball": ball})
    mi.load_dict({"type": "scene", "folder": {"type": "resources", "path": str(tmp_path)}, "ball": ball})
    with pytest.raises(RuntimeError, match="not found"):
        mi.load_dict({"type": "scene", "folder": {"type": "resources", "path": "/nowhere"}})


def test_what_is_not_there_is_not_there(config):
    for name in ("merge_meshes", "parallel", "unused_properties"):
        with pytest.raises(AttributeError, match=name):
            setattr(config, name, False)


def test_equal_materials_become_one_where_that_is_asked_for():
    grey = {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.5, 0.5, 0.5]}}
    d = {"type": "scene", "a": {"type": "sphere", "bsdf": grey}, "b": {"type": "sphere", "bsdf": grey}}
    for optimize in (False, True):
        a, b = (s.bsdf() for s in mi.load_dict(d, optimize=optimize).shapes())
        assert (a is b) == optimize


def test_files_are_copied_from_where_the_scene_has_them(config, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(b"picture")
    (tmp_path / "in" / "s.xml").write_text(
        '<scene version="3.0.0"><texture type="bitmap"><string name="filename" value="a.png"/></texture></scene>')
    s = parser.parse_file(config, tmp_path / "in" / "s.xml")
    parser.transform_relocate(config, s, tmp_path / "out")
    assert (tmp_path / "out" / "textures" / "a.png").read_bytes() == b"picture" and s.nodes[1].props["filename"] == "textures/a.png"


class Both(mi.BSDF):
    def __init__(self, props): super().__init__(props)


class BothAsTexture(mi.Texture):
    def __init__(self, props): super().__init__(props)
    def eval(self, si, active=True): return mi.Spectrum(0.5)


def test_a_name_of_two_kinds_means_the_one_that_fits(config, tmp_path):
    mi.register_bsdf("of_both_kinds", Both)
    mi.register_texture("of_both_kinds", BothAsTexture)
    d = {"type": "of_both_kinds"}
    ball = mi.load_dict({"type": "sphere", "material": d})
    assert isinstance(ball.bsdf(), Both)
    mi.load_dict({"type": "twosided", "nested": d})
    mi.load_dict({"type": "diffuse", "reflectance": d})
    assert isinstance(mi.load_dict({"type": "texture/of_both_kinds"}), BothAsTexture)
    with pytest.raises(mi.UserError, match='"bsdf/of_both_kinds" or "texture/of_both_kinds"'):
        mi.load_dict(d)
    plugins = mi.PluginManager.instance()
    assert plugins.plugin_type("bsdf/of_both_kinds") is mi.ObjectType.BSDF
    with pytest.raises(mi.UserError, match="several plugins"):
        plugins.plugin_type("of_both_kinds")
    s = parser.parse_dict(config, {"type": "sphere", "material": d})
    assert s.nodes[1].type is mi.ObjectType.BSDF
    # A shape of Mitsuba 0.5, too; scripts of Mitsuba 3 mean the material
    assert isinstance(mi.load_dict({"type": "hair"}), mi.BSDF)
    (tmp_path / "a.hair").write_text("0 0 0\n0 0 1\n")
    strand = {"type": "hair", "filename": str(tmp_path / "a.hair")}
    scene = mi.load_dict({"type": "scene", "strand": strand, "material": {"type": "hair"},
                          "ball": {"type": "sphere", "b": {"type": "hair"}}})
    assert [s.id() for s in scene.shapes()] == ["strand", "ball"] and isinstance(mi.load_dict(strand), mi.Shape)
    with pytest.raises(mi.UserError, match="diffuse"):
        mi.load_dict({"type": "difuse"})


def test_files_texts_and_dictionaries_load_with_the_same_options(tmp_path, capfd):
    text = '<scene version="3.0.0"><bsdf type="$kind" id="a"/><shape type="sphere"><ref id="a"/></shape></scene>'
    (tmp_path / "a.xml").write_text(text)
    for options in ({}, {"parallel": True}, {"optimize": True}, {"parallel": False, "optimize": False}):
        for load, source in ((mi.load_string, text), (mi.load_file, tmp_path / "a.xml")):
            assert isinstance(load(source, kind="conductor", **options).shapes()[0].bsdf(), mi.BSDF)
        assert isinstance(mi.load_dict({"type": "sphere"}, **options), mi.Shape)
    capfd.readouterr()
    mi.load_string(text, kind="diffuse", knd="plastic")
    assert "does not use $knd" in "".join(capfd.readouterr())
