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
    ("<float name='a' value='x'/>", r"string \(line 1, col 25\): could not parse floating point value \"x\""),
    ("<float name='a'/>", "missing required attribute \"value\""), ("<nothing/>", "unsupported XML element: <nothing>"),
    ("<float name='a' value='1' b='2'/>", "unexpected attribute \"b\""), ("<scale value='2'/>", "inside a <transform>"),
    ("<shape type='s'><path value='x'/></shape>", "child of root"), ("<float name='a' value='$z'/>", r"undefined parameter: \$z"),
    ("<include filename='none.xml'/>", "not found"), ("<spectrum name='s' value='500:1, 400:2'/>", "increasing")])
def test_errors_say_where_and_what(config, content, text):
    with pytest.raises(RuntimeError, match=text):
        parser.parse_string(config, f'<scene version="3.0.0">{content}</scene>')


def test_an_unused_definition_is_an_error(config):
    with pytest.raises(RuntimeError, match=r"\$q=1"):
        parser.parse_string(config, SCENE, q=1)


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
    with pytest.raises(RuntimeError, match="circular reference detected: a -> b -> a"):
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
    with pytest.raises(RuntimeError, match=r"line 3, col 6.*diffuse"):
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
    read = back.nodes[3].props.get("to_world", mi.ScalarTransform4f())
    assert np.allclose(read.numpy(), to_world.numpy(), atol=1e-6) and list(back.nodes)[:3] == list(s.nodes)[:3]


def test_resources_are_folders_of_a_dictionary(tmp_path):
    mi.Bitmap(np.zeros((2, 2, 3), np.float32)).write(tmp_path / "picture_of_this_test.exr")
    picture = {"type": "bitmap", "filename": "picture_of_this_test.exr"}
    with pytest.raises(RuntimeError):
        mi.load_dict({"type": "scene", "picture": picture})
    mi.load_dict({"type": "scene", "folder": {"type": "resources", "path": str(tmp_path)}, "picture": picture})
    with pytest.raises(RuntimeError, match="not found"):
        mi.load_dict({"type": "scene", "folder": {"type": "resources", "path": "/nowhere"}})
