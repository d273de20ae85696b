"""Pictures of an optimization: its losses as a curve, images side by side, and a page with both. Needs nothing but NumPy."""
import html
import math
import os
import sys
import time

# Digits of 3 x 5 dots, a row a number of three bits
_GLYPHS = {"0": (7, 5, 5, 5, 7), "1": (2, 6, 2, 2, 7), "2": (7, 1, 7, 4, 7), "3": (7, 1, 7, 1, 7), "4": (5, 5, 7, 1, 1),
           "5": (7, 4, 7, 1, 7), "6": (7, 4, 7, 5, 7), "7": (7, 1, 1, 1, 1), "8": (7, 5, 7, 5, 7), "9": (7, 5, 7, 1, 7),
           "-": (0, 0, 7, 0, 0), ".": (0, 0, 0, 0, 2), "e": (7, 5, 7, 4, 7)}


def _write_text(canvas, x, y, text, colour=(90, 90, 90), scale=2):
    for c in text:
        for i, bits in enumerate(_GLYPHS.get(c, (0,) * 5)):
            for j in range(3):
                if bits >> (2 - j) & 1:
                    canvas[max(y + i * scale, 0):y + (i + 1) * scale, max(x + j * scale, 0):x + (j + 1) * scale] = colour
        x += 4 * scale


def curve(losses, width=480, height=240):
    """Losses as a picture, rows by columns by three channels of 8 bits: iterations to the right, powers of ten upwards."""
    import numpy as np
    canvas = np.full((height, width, 3), 255, np.uint8)
    left, right, top, bottom = 60, width - 10, 10, height - 24
    canvas[bottom, left:right] = canvas[top:bottom, left] = 120
    values = np.array([v for v in losses if math.isfinite(v) and v > 0])
    if len(values) == 0:
        return canvas
    low, high = math.log10(values.min()), math.log10(values.max())
    middle, half = (low + high) / 2, max((high - low) / 2, 0.05) * 1.05
    row = lambda v: bottom - (math.log10(v) - (middle - half)) / (2 * half) * (bottom - top)
    marks = [10. ** k for k in range(math.floor(middle - half), math.ceil(middle + half) + 1)]
    marks = [m for m in marks if top <= row(m) <= bottom] or [10 ** middle]
    for m in marks:
        y = int(row(m))
        canvas[y, left:right] = np.minimum(canvas[y, left:right], 215)
        _write_text(canvas, 2, min(max(y - 5, 0), height - 12), f"{m:.0e}".replace("e+", "e").replace("e-0", "e-").replace("e0", "e"))
    column = lambda i: left + 1 + i * (right - left - 2) / max(len(losses) - 1, 1)
    _write_text(canvas, left, bottom + 6, "0")
    last = str(len(losses) - 1)
    _write_text(canvas, right - 8 * len(last), bottom + 6, last)
    before = None
    for i, v in enumerate(losses):
        if not (math.isfinite(v) and v > 0):
            continue
        x, y = column(i), row(v)
        if before is not None:
            steps = int(max(abs(x - before[0]), abs(y - before[1]))) + 1
            xs = np.linspace(before[0], x, steps + 1).astype(int)
            ys = np.linspace(before[1], y, steps + 1).astype(int)
            for dy in (0, 1):
                canvas[np.clip(ys + dy, 0, height - 1), xs] = (200, 60, 20)
        before = x, y
    return canvas


def _display(image):
    """An image of light as 8 bits of sRGB with three channels."""
    import numpy as np
    a = np.nan_to_num(np.array(image, dtype=np.float64))
    a = a[..., None] if a.ndim == 2 else a
    a = np.repeat(a[..., :1], 3, axis=-1) if a.shape[-1] < 3 else a[..., :3]
    a = np.clip(a, 0, 1)
    a = np.where(a <= 0.0031308, 12.92 * a, 1.055 * a ** (1 / 2.4) - 0.055)
    return (a * 255 + 0.5).astype(np.uint8)


def side_by_side(rows, least=192):
    """A list of rows of images of light as one picture; small ones are enlarged to so many pixels."""
    import numpy as np
    shown = []
    for row in rows:
        images = [_display(i) for i in row]
        times = max(1, math.ceil(least / max(images[0].shape[:2])))
        images = [np.repeat(np.repeat(i, times, 0), times, 1) for i in images]
        height = max(i.shape[0] for i in images)
        padded = [np.pad(i, ((0, height - i.shape[0]), (0, 4), (0, 0)), constant_values=255) for i in images]
        shown.append(np.concatenate(padded, axis=1))
    width = max(r.shape[1] for r in shown)
    return np.concatenate([np.pad(r, ((0, 4), (0, width - r.shape[1]), (0, 0)), constant_values=255) for r in shown], axis=0)


def write_png(path, pixels):
    """Writes 8 bits a channel, and puts the file in its place when it is whole."""
    import struct
    import zlib
    h, w, _ = pixels.shape
    chunk = lambda kind, data: (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    lines = b"".join(b"\0" + pixels[y].tobytes() for y in range(h))
    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))
    replace(path, data)


def replace(path, data):
    """A file that is either as it was or as it shall be."""
    part = f"{path}.part"
    with open(part, "wb") as file:
        file.write(data)
    os.replace(part, path)


class Report:
    """A folder with loss.png, views.png and index.html, which shows both and loads itself again while work goes on.

        report = Report("build/globe", "The texture of a globe")
        ...
        report.write(losses, [[first, image, target]], columns=["first", "now", "wanted"])
    """

    def __init__(self, folder, title):
        self.folder, self.title, self._begin = str(folder), title, time.time()
        os.makedirs(self.folder, exist_ok=True)

    def write(self, losses, rows=(), columns=("first", "now", "wanted"), facts=None, done=True):
        """All of it; `facts` is a table of names and values below the pictures."""
        path = lambda name: os.path.join(self.folder, name)
        write_png(path("loss.png"), curve(losses))
        if rows:
            write_png(path("views.png"), side_by_side(rows))
        table = {"iterations": len(losses), "first loss": f"{losses[0]:.6g}" if losses else "-",
                 "last loss": f"{losses[-1]:.6g}" if losses else "-", **(facts or {})}
        cells = "".join(f"<tr><th>{html.escape(str(k))}</th><td>{html.escape(str(v))}</td></tr>" for k, v in table.items())
        again = "" if done else '<meta http-equiv="refresh" content="5">'
        mark = len(losses)  # so that browsers do not show older pictures
        views = f'<h2>{" | ".join(columns)}</h2><img src="views.png?{mark}">' if rows else ""
        page = (f'<!doctype html><meta charset="utf-8">{again}<title>{html.escape(self.title)}</title><style>body{{font:16px sans-serif;'
                'margin:2em}img{max-width:100%;image-rendering:pixelated}th{text-align:left;padding-right:2em}</style>'
                f'<h1>{html.escape(self.title)}</h1><h2>loss</h2><img src="loss.png?{mark}">{views}<table>{cells}</table>')
        page = page.replace("body{{", "body{").replace("2em}}", "2em}")
        replace(path("index.html"), page.encode())


class Watch:
    """What iterations cost, and whether they compile anything:

        with Watch() as watch:
            for i in range(steps):
                ...
                watch.iteration()
            watch.check()
    """

    def __enter__(self):
        from .. import jit as dr
        self._scope = dr.scoped_set_flag(dr.JitFlag.KernelHistory, True)
        self._scope.__enter__()
        dr.kernel_history_clear()
        self.seconds, self.megabytes, self.late = [], [], 0
        self._begin = time.process_time()
        return self

    def __exit__(self, *error): return self._scope.__exit__(*error)

    def compiled(self):
        """Kernels that were not there before, since this was last asked."""
        from .. import jit as dr
        return sum(k["type"] == dr.KernelType.JIT and not k["cache_hit"] for k in dr.kernel_history())

    def iteration(self):
        """To be called at the end of each: notes the time of all processors, the process's memory, and kernels compiled after the second."""
        now = time.process_time()
        self.seconds.append(now - self._begin)
        with open("/proc/self/statm") as file:
            self.megabytes.append(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
        new = self.compiled()
        self.late += new if len(self.seconds) > 2 else 0
        self._begin = time.process_time()

    def check(self):
        """Nothing was compiled after the second iteration; of 400 or more, the last hundred need about as much time and memory as the first."""
        assert self.late == 0, f"iterations after the second compiled {self.late} kernels"
        if len(self.seconds) < 400:
            return
        middle = lambda values: sorted(values)[len(values) // 2]
        first, last = slice(2, 102), slice(-100, None)  # without those that compile
        (early, before), (late, after) = ((middle(self.seconds[part]) * 1e3, middle(self.megabytes[part])) for part in (first, last))
        print(f"an iteration: {early:.3g} ms of processors' time at first, {late:.3g} at last; memory: {before:.0f} MB, {after:.0f} MB")
        assert after < 1.1 * before, "memory grows"
        assert late < 1.5 * early, "iterations slow down"  # generous: others use the machine, too


def long_form():
    """How many iterations a script is asked to do: 2,000 by `--long`, 200 by `--long 200`; without, 0: its short form, which tests run."""
    words = sys.argv[1:]
    if "--long" not in words:
        return 0
    number = words[words.index("--long") + 1:]
    return int(number[0]) if number else 2000


__all__ = ["Report", "Watch", "curve", "long_form", "side_by_side", "write_png"]
