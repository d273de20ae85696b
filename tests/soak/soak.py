# tests/soak/soak.py: `./umbel soak`: kills, limits, full disks, lack of memory, threads and thousands of scenes.
#
#     soak.py [--minutes N] [--only PART] [--count N] [--seed N]
#
# Each part has its share of the time, or, with --count, its number of kills, moments or renders. What is left after all of it
# must be what there would have been without: the same bits, or an error and no image; and neither memory nor time may grow.
import argparse
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import growth  # noqa: E402

PROGRAM = os.environ["UMBEL_PROGRAM"]
TESTS = pathlib.Path(PROGRAM).parent / "tests"
SCENE = """<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='{depth}'/></integrator>
<sensor type='perspective'><transform name='to_world'><lookat origin='0,1,4' target='0,0,0' up='0,1,0'/></transform>
  <film type='hdrfilm'><integer name='width' value='64'/><integer name='height' value='48'/></film>
  <sampler type='independent'><integer name='sample_count' value='{spp}'/></sampler></sensor>
<shape type='sphere'><bsdf type='roughconductor'/></shape><shape type='cube'><transform name='to_world'><translate y='-2'/>
  </transform><bsdf type='diffuse'/></shape><emitter type='constant'/></scene>"""


class Failure(Exception):
    pass


def umbel(folder, arguments, before=None, **environment):
    """The program's exit code (negative: a signal) and all that it says."""
    run = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, errors="replace", timeout=300,
                         stdin=subprocess.DEVNULL, env={**os.environ, **environment}, preexec_fn=before)
    return run.returncode, run.stdout + run.stderr


def render(folder, scene, output, *more):
    return ["render", folder / scene, "-o", folder / output, "-q", *more]


def reference(folder, spp, *options, depth=4):
    (folder / "a.xml").write_text(SCENE.format(spp=spp, depth=depth))
    code, text = umbel(folder, render(folder, "a.xml", "reference.pfm", *options), UMBEL_CACHE=str(folder / "cache"))
    if code:
        raise Failure(f"an undisturbed render ends with {code}: {text}")
    return (folder / "reference.pfm").read_bytes()


# ---- kills

def kills(folder, seconds, count, rng):
    """KILL, TERM and INT at random moments of compilation, rendering and saving; the render goes on until it is done."""
    want = reference(folder, spp=1500)
    begun = time.monotonic()
    umbel(folder, render(folder, "a.xml", "timed.pfm"), UMBEL_CACHE=str(folder / "cache"))
    whole = time.monotonic() - begun
    done = renders = 0
    names = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    begun = time.monotonic()
    while done < count if count else time.monotonic() - begun < seconds:
        for f in ("b.pfm", "state", "state.previous"):
            (folder / f).unlink(missing_ok=True)
        cold = rng.random() < 0.5  # a folder of kernels of its own: killed while it compiles or stores
        cache = folder / (f"cache-{renders}" if cold else "cache")
        kills_left = rng.randint(1, 6)
        for _ in range(1000):
            p = subprocess.Popen([PROGRAM, *map(str, render(folder, "a.xml", "b.pfm", "--checkpoint", folder / "state",
                                                            "--checkpoint-every", "0.02", "-b", "16"))],
                                 env={**os.environ, "UMBEL_CACHE": str(cache)}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            killed = None
            if kills_left > 0:
                time.sleep(rng.random() * whole * 1.1)
                if p.poll() is None:
                    killed = rng.choice(names)
                    p.send_signal(killed)
                    kills_left, done = kills_left - 1, done + 1
            text = p.communicate(timeout=300)[1]
            if p.returncode == 0:
                break
            if killed is None or p.returncode not in (-signal.SIGKILL, 130, 143, -signal.SIGTERM, -signal.SIGINT):
                raise Failure(f"after {done} kills: ends with {p.returncode}: {text}")
        renders += 1
        if (folder / "b.pfm").read_bytes() != want:
            raise Failure(f"after {done} kills: another image")
        if cold:
            for f in cache.glob("**/*"):
                f.is_file() and f.unlink()
    return f"{done} kills in {renders} renders, always the same bits"


# ---- interrupts

RENDERS_UNTIL_TOLD = """
import sys, time
import umbel as mi
mi.set_variant("llvm_rgb")
scene = mi.load_file(sys.argv[1])
before = mi.render(scene, spp=4, seed=1).numpy()
for _ in range(int(sys.argv[2])):
    try:
        print("ready", flush=True)
        mi.render(scene, spp=1 << 22)
    except KeyboardInterrupt:
        print(time.monotonic(), (mi.render(scene, spp=4, seed=1).numpy() == before).all(), flush=True)
"""
LONGEST_WAIT = 0.3  # seconds from Ctrl-C to the end of a render


def interrupted_in_python(folder, moments, rng):
    """Seconds that each interrupt took."""
    child = subprocess.Popen([sys.executable, "-B", "-c", RENDERS_UNTIL_TOLD, str(folder / "a.xml"), str(moments)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "UMBEL_CACHE": str(folder / "cache")})
    waits = []
    try:
        for _ in range(moments):
            if child.stdout.readline() != "ready\n":
                raise Failure(f"Python ends after {len(waits)} interrupts: {child.communicate()[1]}")
            time.sleep(0.02 + rng.random())
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            answer = child.stdout.readline().split()
            if len(answer) != 2 or answer[1] != "True":
                raise Failure(f"after {len(waits) + 1} interrupts in Python the next render is another: {answer}")
            waits.append(float(answer[0]) - begun)
    finally:
        child.kill()
    return waits


def interrupted_program(folder, moments, rng):
    """The same for processes of the program."""
    waits = []
    for _ in range(moments):
        p = subprocess.Popen([PROGRAM, *map(str, render(folder, "a.xml", "b.pfm", "--spp", str(1 << 22)))], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "UMBEL_CACHE": str(folder / "cache")})
        time.sleep(0.5 + rng.random())
        begun = time.monotonic()
        p.send_signal(signal.SIGINT)
        text = p.communicate(timeout=300)[1]
        waits.append(time.monotonic() - begun)
        if p.returncode != 130:
            raise Failure(f"an interrupted render ends with {p.returncode}: {text}")
    return waits


def interrupts(folder, seconds, count, rng):
    """Ctrl-C at random moments of long renders in Python and on the command line: heard within 0.3 s, the next render right."""
    want = reference(folder, spp=16)
    moments = count or max(2, int(seconds / 3))
    waits = interrupted_in_python(folder, moments, rng) + interrupted_program(folder, moments, rng)
    if reference(folder, spp=16) != want:
        raise Failure("another image after all interrupts")
    late = sum(w > LONGEST_WAIT for w in waits)
    if late:
        raise Failure(f"{late} of {len(waits)} interrupts were heard late, the slowest after {max(waits):.2f} s")
    return f"{len(waits)} interrupts, the slowest heard after {max(waits):.2f} s"


# ---- limits and faults

def limits(folder, seconds, count, rng):
    """Little address space, few files, small stacks, small files: exit codes as documented, no wrong image."""
    want = {v: reference(folder, 16, "-m", v) for v in ("llvm_rgb", "interp_rgb")}
    begun, tried, failed = time.monotonic(), 0, 0
    while tried < count if count else time.monotonic() - begun < seconds:
        kind, value = rng.choice([(resource.RLIMIT_AS, rng.randrange(60, 1500) << 20), (resource.RLIMIT_NOFILE, rng.randrange(4, 40)),
                                  (resource.RLIMIT_STACK, rng.randrange(256, 8192) << 10), (resource.RLIMIT_FSIZE, rng.randrange(0, 60000)),
                                  (resource.RLIMIT_DATA, rng.randrange(40, 800) << 20)])
        (folder / "b.pfm").unlink(missing_ok=True)
        cache = str(folder / "cache") if rng.random() < 0.5 else ""
        variant = rng.choice(list(want))
        code, text = umbel(folder, render(folder, "a.xml", "b.pfm", "-m", variant),
                           before=lambda: resource.setrlimit(kind, (value, value)), UMBEL_CACHE=cache)
        tried += 1
        failed += code != 0
        named = f"{variant}, limit {kind} of {value}: ends with {code}: {text}"
        # What the loader, libstdc++'s threads or LLVM cannot have, ends the process their way: with a message of theirs
        theirs = code == 127 or "error while loading shared libraries" in text or "LLVM ERROR" in text
        if code not in (0, 1, 2) and not theirs:
            raise Failure(named)
        image = folder / "b.pfm"
        if code == 0 and not image.exists():
            raise Failure("no image and no error, " + named)
        if image.exists() and image.read_bytes() != want[variant]:
            raise Failure("a wrong image, " + named)
    return f"{tried} limits, {failed} errors, no crash"


def disk(folder, seconds, count, rng):
    """Each write to a file fails once: of kernels, checkpoints and images."""
    want = reference(folder, spp=64)
    shim = TESTS / "write_faults.so"
    if not shim.exists():
        raise Failure(f"{shim} is missing: ./umbel build write_faults")
    command = render(folder, "a.xml", "b.pfm", "--checkpoint", folder / "state", "--checkpoint-every", "0", "-b", "16", "--keep-checkpoint")

    def attempt(k):
        for f in folder.iterdir():
            if f.name not in ("a.xml", "cache", "reference.pfm"):
                f.unlink() if f.is_file() else None
        for f in (folder / "new").glob("**/*"):
            f.is_file() and f.unlink()
        return umbel(folder, command, LD_PRELOAD=str(shim), UMBEL_FAIL_WRITE=str(k), UMBEL_CACHE=str(folder / "new"),
                     UMBEL_COUNT_WRITES=str(folder / "count"))
    attempt(0)
    total = int((folder / "count").read_text().split()[-1])
    begun, tried, errors = time.monotonic(), 0, 0
    moments = list(range(1, total + 1))
    rng.shuffle(moments)
    for k in moments[:count] if count else moments:
        if not count and time.monotonic() - begun > seconds:
            break
        code, text = attempt(k)
        tried += 1
        errors += code != 0
        image = folder / "b.pfm"
        if code not in (0, 1, 2):
            raise Failure(f"write {k} of {total}: ends with {code}: {text}")
        if code == 0 and not image.exists():
            raise Failure(f"write {k} of {total}: no image and no error: {text}")
        if image.exists() and image.read_bytes() != want:
            raise Failure(f"write {k} of {total}: a wrong image is left behind: {text}")
        code, text = umbel(folder, command, UMBEL_CACHE=str(folder / "new"))  # and what is left does no harm
        if code or image.read_bytes() != want:
            raise Failure(f"after write {k} of {total} had failed: {code} {text}")
    return f"{tried} of {total} writes failed once: {errors} errors, no wrong image, all went on afterwards"


def memory(folder, seconds, count, rng):
    """Each request for memory of a small render fails once; see tests/faults."""
    program = TESTS / "test_faults"
    if not program.exists():
        raise Failure(f"{program} is missing: ./umbel build test_faults")
    run = subprocess.run([program, "--gtest_brief=1"], capture_output=True, text=True, timeout=3600,
                         env={**os.environ, "UMBEL_FAULTS": "all" if count or seconds > 60 else ""})
    lines = [line for line in run.stdout.splitlines() if "requests failed" in line]
    if run.returncode:
        raise Failure("\n".join(line for line in run.stdout.splitlines() if "request " in line)[:3000] or run.stdout[-2000:])
    return "; ".join(lines)


# ---- long runs in one process

def in_python(part):
    def run(folder, seconds, count, rng):
        done = subprocess.run([sys.executable, "-B", growth.__file__, part, str(seconds), str(count), str(rng.randrange(10**6))],
                              capture_output=True, text=True, timeout=24 * 3600, env={**os.environ, "UMBEL_CACHE": str(folder / "cache")})
        if done.returncode:
            raise Failure((done.stderr.strip() or f"ends with {done.returncode}")[-3000:])
        return done.stdout.strip()
    run.__doc__ = getattr(growth, part).__doc__
    return run


PARTS = {"kills": kills, "interrupts": interrupts, "limits": limits, "disk": disk, "memory": memory, "renders": in_python("renders"),
         "scenes": in_python("scenes"), "threads": in_python("threads")}


def main():
    parser = argparse.ArgumentParser(prog="./umbel soak", description="What is left after faults and long runs is right.")
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--only", help="one part; `help` lists them")
    parser.add_argument("--count", type=int, default=0, help="kills, moments or renders, in place of time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.only and options.only not in PARTS:
        for name, part in PARTS.items():
            print(f"  {name:10}{part.__doc__}")
        return 0 if options.only == "help" else 2
    chosen = [options.only] if options.only else list(PARTS)
    failed = 0
    for name in chosen:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="umbel-soak-") as folder:
            try:
                result = PARTS[name](pathlib.Path(folder), 60 * options.minutes / len(chosen), options.count, random.Random(options.seed))
            except Failure as e:
                failed += 1
                result = f"FAILED: {e}"
        print(f"soak: {name}: {result} ({time.monotonic() - begun:.0f} s)", flush=True)
    print(f"soak: {len(chosen) - failed} of {len(chosen)} parts held (seed {options.seed})")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
