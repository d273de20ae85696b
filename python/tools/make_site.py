# python/tools/make_site.py: the documentation as a site, ready for MkDocs.
#
#     python3 python/tools/make_site.py SOURCE [PICTURES]     # then: mkdocs build --strict -f docs/mkdocs.yml
#
# Pages of docs/, the README and what they link to go to SOURCE, with links that fit there. The manual of plugins becomes
# a page for each kind with its pictures (gallery.py), where there are any; the Python reference comes from reference.py.
import os
import posixpath
import re
import shutil
import sys

import gallery_examples
import reference

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".xml": "xml", ".sh": "sh"}
KINDS = {"bsdf": "Materials", "emitter": "Lights", "film": "Films", "integrator": "Integrators", "medium": "Media",
         "phase": "Phase functions", "rfilter": "Reconstruction filters", "sampler": "Samplers", "scene": "Scenes",
         "sensor": "Cameras and sensors", "shape": "Shapes", "subsurface": "Below surfaces", "texture": "Textures and spectra",
         "volume": "Volumes"}


class BrokenLink(Exception):
    pass


def outside_code(text, change):
    """Applies a function to what is no code: neither a fenced or indented block, nor between backticks."""
    fenced, out = False, []
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            line = "".join(part if i % 2 else change(part) for i, part in enumerate(re.split(r"(`[^`]*`)", line)))
        out.append(line)
    return "\n".join(out)


def page_of(path):
    """Where a file or folder of the repository is on the site."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/") and path.endswith(".md"):
        return path[len("docs/"):]
    return f"repository/{path.rstrip('/')}" + (".md" if not path.endswith(".md") else "")


def text_of(path):
    """A page about a file or folder of the repository."""
    full = os.path.join(ROOT, path)
    if os.path.isdir(full):
        files = sorted(f for f in os.listdir(full) if os.path.isfile(os.path.join(full, f)))
        base = posixpath.basename(path)
        return f"# {path}\n\n" + "".join(f"- [{f}]({base}/{f})\n" for f in files), posixpath.dirname(path)
    with open(full, encoding="utf-8") as f:
        text = f.read()
    if not path.endswith(".md"):
        language = LANGUAGES.get(os.path.splitext(path)[1], "")
        text = f"# {path}\n\n````{language}\n{text}````\n"
    return text, posixpath.dirname(path)


def repository_pages():
    """{page: text} of the README and all that can be reached from it and from docs/."""
    files = lambda folder, end: sorted(f"{folder}/{f}" for f in os.listdir(os.path.join(ROOT, folder)) if f.endswith(end))
    todo = ["README.md"] + files("docs", ".md") + files("scenes", ".xml")
    pages, broken = {}, []
    seen = set(todo)
    for path in todo:  # grows meanwhile
        text, folder = text_of(path)

        def moved(match):
            target, hash_, anchor = match[1].partition("#")
            if not target or "://" in target or target.startswith("mailto:"):
                return match[1]
            there = posixpath.normpath(posixpath.join(folder, target))
            if there.startswith("..") or not os.path.exists(os.path.join(ROOT, there)):
                broken.append(f"{path}: {match[1]} does not exist")
                return match[1]
            if there not in seen:
                seen.add(there)
                todo.append(there)
            return posixpath.relpath(page_of(there), posixpath.dirname(page_of(path)) or ".") + hash_ + anchor

        is_code = not path.endswith(".md") and os.path.isfile(os.path.join(ROOT, path))
        pages[page_of(path)] = text if is_code else outside_code(text, lambda part: LINK.sub(moved, part))
    if broken:
        raise BrokenLink("broken links:\n  " + "\n  ".join(broken))
    return pages


# ---- The gallery of plugins

def plugin_pages(manual, pictures):
    """{page: text}: the manual of plugins as an overview and a page for each kind. `pictures`: names of those that exist."""
    head, *sections = re.split(r"^## ", manual, flags=re.M)
    overview, pages = [head], {}
    for section in sections:
        kind, _, body = section.partition("\n")
        title = KINDS.get(kind, kind)
        tiles = []
        out = [f"# {title}\n"]
        for part in re.split(r"^### ", body, flags=re.M)[1:]:
            name = part.split("`")[1]
            picture = f"{kind}_{name}.jpg"
            heading, _, rest = part.partition("\n")
            shown = f"\n![{kind} {name}](../pictures/{picture}){{ .picture loading=lazy }}\n" if picture in pictures else ""
            # Lists of parameters are bare paragraphs below; anchors are plugins' names
            out.append(f"## {heading} {{ #{name} }}\n{shown}\n{tabbed(rest)}")
            thumb = f"![](pictures/{picture}){{ loading=lazy }}" if picture in pictures else ""
            tiles.append(f"[{thumb}{name}](plugins/{kind}.md#{name})")
        pages[f"plugins/{kind}.md"] = "\n".join(out).replace("](extending.md", "](../extending.md")
        overview.append(f"## [{title}](plugins/{kind}.md)\n\n<div class=\"tiles\" markdown>\n" + "\n".join(tiles) + "\n</div>\n")
    return pages | {"plugins.md": "\n".join(overview)}


def scene_page(pictures):
    """The scenes of the repository: a picture of each, what its first comment says, and its source."""
    out = ["# Scenes\n\nScenes of our own, each a small file in `scenes/`: `./umbel render scenes/glass.xml`.\n"]
    for file in sorted(f for f in os.listdir(os.path.join(ROOT, "scenes")) if f.endswith(".xml")):
        name = file.removesuffix(".xml")
        with open(os.path.join(ROOT, "scenes", file), encoding="utf-8") as f:
            about = " ".join(re.search(r"<!--(.*?)-->", f.read(), re.S)[1].split())
        picture = f"scenes_{name}.jpg"
        shown = f"![{name}](pictures/{picture}){{ .picture loading=lazy }}\n\n" if picture in pictures else ""
        out.append(f"## [{file}](repository/scenes/{file}.md) {{ #{name} }}\n\n{shown}{about}\n")
    return "\n".join(out)


def inverse_page(text, pictures):
    """The page about inverse problems, with pictures and the curve of losses of each example."""
    out = [text]
    for script in gallery_examples.scripts():
        name = script.removesuffix(".py")
        out.append(f"### [{name}](repository/examples/python/{script}.md) {{ #{name} }}\n\n{gallery_examples.about(script)}\n")
        for report in gallery_examples.reports(script):
            files = [gallery_examples.picture(report, f) for f in gallery_examples.FILES]
            out += [f"![{report}](pictures/{f}){{ .views loading=lazy }}\n" for f in files if f in pictures]
    return "\n".join(out)


def tabbed(text):
    """Code of several languages, one behind the other."""
    names = {"xml": "XML", "python": "Python"}

    def tab(match):
        return f'=== "{names[match[1]]}"\n\n    ```{match[1]}\n' + re.sub(r"^(?=.)", "    ", match[2], flags=re.M) + "    ```\n"
    return re.sub(r"^```(xml|python)\n(.*?)^```\n", tab, text, flags=re.M | re.S)


# ---- All of it

def pages(pictures=()):
    """{page: text} of the whole site."""
    out = repository_pages()
    out |= plugin_pages(out["plugins.md"], set(pictures))
    out["scenes.md"] = scene_page(pictures)
    out["inverse.md"] = inverse_page(out["inverse.md"], pictures)
    out |= {f"reference/{name}": text for name, text in reference.pages().items()}
    return out


def main(target, pictures=None):
    shutil.rmtree(target, ignore_errors=True)
    names = sorted(f for f in os.listdir(pictures) if f.endswith((".jpg", ".png"))) if pictures else []
    for page, text in pages(names).items():
        path = os.path.join(target, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    os.makedirs(os.path.join(target, "pictures"), exist_ok=True)
    for name in names:
        shutil.copy(os.path.join(pictures, name), os.path.join(target, "pictures", name))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BrokenLink as e:
        sys.exit(f"make_site.py: {e}")
