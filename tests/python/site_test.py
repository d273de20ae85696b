# tests/python/site_test.py: the documentation's site before it is made: its pages, and that all of their links lead somewhere.
#
# `./umbel docs` makes it of them, and fails on broken links as well; that takes minutes, and an installation of MkDocs.
import os
import posixpath
import re
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "python", "tools"))
import gallery
import gallery_examples
import make_site

PICTURES = {name for name, _, _ in gallery.jobs()}


@pytest.fixture(autouse=True)
def variant(): """Pages are the same in all."""


@pytest.fixture(scope="module")
def pages(): return make_site.pages(PICTURES)


def prose(text):
    """Without blocks of code."""
    kept = []
    make_site.outside_code(text, lambda part: kept.append(part) or part)
    return "\n".join(kept)


def anchors(text):
    """As the site names its headings."""
    out = set(re.findall(r"^#.*\{ #([\w-]+) \}$", text, re.M))
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        out.add(re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", plain.lower()).strip()))
    return out


def test_all_links_lead_somewhere(pages):
    broken = []
    for page, text in pages.items():
        for link in make_site.LINK.findall(prose(text)):
            target, _, anchor = link.partition("#")
            if "://" in target:
                continue
            there = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
            picture = there.startswith("pictures/") and there.removeprefix("pictures/") in PICTURES
            if not picture and there not in pages or anchor and anchor not in anchors(pages[there]):
                broken.append(f"{page}: {link}")
    assert not broken


def test_every_plugin_has_its_place_with_picture_and_examples(pages):
    for e in gallery.entries():
        page = pages[f"plugins/{e.kind}.md"]
        part = page[page.index(f"{{ #{e.name} }}"):].split("\n## ")[0]
        for wanted in (f"../pictures/{gallery.file_name(e)}", '=== "XML"', '=== "Python"', "mi.load_dict("):
            assert wanted in part, (e.kind, e.name, wanted)
        assert f"](plugins/{e.kind}.md#{e.name})" in pages["plugins.md"]


def test_every_scene_has_its_place_with_picture_and_source(pages):
    for source in gallery.scene_files():
        file = os.path.basename(source)
        assert f"pictures/{gallery.scene_picture(source)}" in pages["scenes.md"]
        assert f"](repository/scenes/{file}.md)" in pages["scenes.md"] and f"repository/scenes/{file}.md" in pages


def test_every_inverse_problem_has_its_place_with_views_and_losses(pages):
    page, scripts = pages["inverse.md"], gallery_examples.scripts()
    assert len(scripts) >= 9
    for script in scripts:
        name = script.removesuffix(".py")
        assert f"| [{name}](repository/examples/python/{script}.md)" in page, "the table has it"
        part = page[page.index(f"{{ #{name} }}"):].split("\n### ")[0]
        assert gallery_examples.about(script) in part and gallery_examples.reports(script)
        for report in gallery_examples.reports(script):
            assert all(f"pictures/inverse_{report}_{file}" in part for file in ("views.png", "loss.png"))


def test_the_reference_has_functions_and_classes_with_their_signatures(pages):
    text = pages["reference/umbel.md"]
    assert "### `load_dict`\n\n```python\nload_dict(dict: Mapping[str, Any], parallel: bool=True, optimize: bool=False) -> " in text
    assert "### `BSDF`" in text and "- `eval_pdf(ctx: BSDFContext" in text
    assert "### `gather`" in pages["reference/umbel.jit.md"]
    assert "square_to_cosine_hemisphere(sample: ArrayLike)" in pages["reference/umbel.warp.md"]


def test_every_page_of_the_manual_can_be_reached(pages):
    with open(os.path.join(ROOT, "docs", "mkdocs.yml")) as f:
        listed = set(re.findall(r"^  - .*: (\S+\.md)$", f.read(), re.M))
    assert listed <= set(pages)
    assert {make_site.page_of(f"docs/{f}") for f in os.listdir(os.path.join(ROOT, "docs")) if f.endswith(".md")} <= listed


def test_a_broken_link_is_an_error_that_names_it(monkeypatch):
    real = make_site.text_of
    monkeypatch.setattr(make_site, "text_of", lambda path: ("[this](nothing.md)", "docs") if path == "docs/cli.md" else real(path))
    with pytest.raises(make_site.BrokenLink, match="docs/cli.md: nothing.md does not exist"):
        make_site.pages()


def test_code_is_left_alone():
    text = "`[a](b)` [c](d)\n\n    [e](f)\n\n```\n[g](h)\n```\n"
    assert make_site.outside_code(text, lambda part: make_site.LINK.sub("X", part)) == text.replace("(d)", "(X)")


def test_the_tour_leads_to_files_that_there_are():
    with open(os.path.join(ROOT, "docs/tour.md")) as f:
        text = f.read()
    tracked = [os.path.relpath(os.path.join(folder, name), ROOT) for top in ("src", "python", "tests", "cmake", "docs", "scenes", "examples",
               "bench", ".ci", ".github") for folder, _, names in os.walk(os.path.join(ROOT, top)) for name in names]
    tracked += os.listdir(ROOT)
    made_up = {"image_FORMAT.cpp", "src/plugins/KIND/NAME.cpp", "libumbel.so"}
    for name in re.findall(r"`([\w.*/]+)`", text):
        if name in made_up or not re.search(r"/|\.(h|cpp|py|md|txt|xml|yml)$", name):
            continue
        if name.endswith("/"):
            assert os.path.isdir(os.path.join(ROOT, name)) or any(f"/{name}" in f for f in tracked), name
        else:
            pattern = re.compile("(.*/)?" + re.escape(name).replace(r"\*", "[^/]*") + "(/.*)?")
            assert any(pattern.fullmatch(f) for f in tracked), name
