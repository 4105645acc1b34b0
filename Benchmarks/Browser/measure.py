#!/usr/bin/env python3
"""Measures the browser in a real pseudo-terminal against its budgets, with other programs beside it.

    make bench-browser        or        python3 Benchmarks/Browser/measure.py [--program PATH] [--records N]

Needs nothing but Python and the release build; less, tig, VisiData (vd) and lnav are measured where they are installed, on
the same records as text (tig: on a repository of 20,000 commits). Ends with status 1 where a figure is
more than twice its budget. Each figure is one run: on a busy machine read it with care.
"""
import argparse
import fcntl
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = pathlib.Path(__file__).parent
RECORDS = 1_000_000
WIDE = (160, 48)


# A program on a terminal

class Session:
    def __init__(self, command, size=WIDE, **environment):
        self.total = 0
        self.seen = b""
        self.sent = 0
        self.began = self.pressed = time.perf_counter()
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            os.environ.update({"TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC", **environment})
            try:
                os.execvp(command[0], command)
            finally:
                os._exit(127)

    def read(self, patience):
        """One read; the bytes, or b'' where nothing came in time."""
        if not select.select([self.file], [], [], patience)[0]:
            return b""
        try:
            data = os.read(self.file, 1 << 20)
        except OSError:
            return b""
        self.total += len(data)
        if b"\x1b[3b\x1b[6n" in data:  # whether it repeats characters: as an xterm answers, from behind four
            self.sent += os.write(self.file, b"\x1b[2;5R")
        self.seen = (self.seen + data)[-200_000:]
        return data

    def settle(self, quiet=0.02):
        """Reads until nothing comes for `quiet` seconds. Returns the bytes that came."""
        before = self.total
        while self.read(quiet):
            pass
        return self.total - before

    def idle(self, patience=120):
        """Seconds from the last key until the program says that nothing is left to do; it says so where it was started with
        STRATA_IDLE_FD=1, naming the bytes of input that it has read."""
        while True:
            said = self.seen.rfind(b"\x1b]7777;idle;")
            if said >= 0 and b"\x07" in self.seen[said:]:
                if int(self.seen[said:].split(b";")[2]) >= self.sent:
                    return time.perf_counter() - self.pressed
            if not self.read(patience):
                raise SystemExit("the program does not become idle")

    def first_byte(self, patience=60):
        began = time.perf_counter()
        if not self.read(patience):
            raise SystemExit("nothing is painted")
        return time.perf_counter() - began

    def until(self, text, patience=120, since=None):
        """Seconds until the bytes of `text` have come."""
        began = since or time.perf_counter()
        while text.encode() not in self.seen:
            if time.perf_counter() - began > patience or not self.read(patience):
                raise SystemExit(f"“{text}” does not appear; the last bytes are {self.seen[-400:]!r}")
        return time.perf_counter() - began

    def press(self, keys, quiet=0.02):
        """Seconds to the first byte of the answer, and the bytes of all of it."""
        self.seen = b""
        before = self.total
        began = self.pressed = time.perf_counter()
        self.sent += os.write(self.file, keys.encode())
        if not self.read(2):
            return None, 0
        latency = time.perf_counter() - began
        self.settle(quiet)
        return latency, self.total - before

    def memory(self):
        """Resident memory in MB."""
        for line in open(f"/proc/{self.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024

    def processor(self):
        """Seconds of processor time so far."""
        fields = open(f"/proc/{self.pid}/stat").read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.file)


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def samples(session, key, count):
    """Milliseconds and bytes of pressing a key `count` times."""
    found = [session.press(key, quiet=0.004) for _ in range(count)]
    return [(latency * 1000, size) for latency, size in found if latency is not None]


def summary(found):
    """Milliseconds p50 and p99, and the median of the bytes."""
    times, sizes = [latency for latency, _ in found], [size for _, size in found]
    return percentile(times, 0.5), percentile(times, 0.99), percentile(sizes, 0.5)


def latencies(session, key, count):
    return summary(samples(session, key, count))


# The same work for every program

def walk(command, rows, down="j", up="k", page="\x1b[6~", last="G", first="g", **environment):
    """The figures that every program has."""
    session = Session(command, **environment)
    first_frame = session.first_byte() * 1000
    session.until(rows)
    ready = (time.perf_counter() - session.began) * 1000
    session.settle(0.3)
    figures = {"first frame": first_frame, "rows": ready, "start bytes": session.total, "memory": session.memory()}
    # Within the screen first, and then where each key scrolls. What came before the first keys is still being tidied up.
    _, _, figures["cursor bytes"] = latencies(session, down, 20)
    within = [sample for _ in range(8) for sample in samples(session, down, 15) + samples(session, up, 15)]
    figures["cursor p50"], figures["cursor p99"], _ = summary(within)
    figures["scroll p50"], figures["scroll p99"], figures["scroll bytes"] = latencies(session, down, 200)
    figures["page p50"], figures["page p99"], figures["page bytes"] = latencies(session, page, 100)
    figures["last record"] = (session.press(last, 0.2)[0] or 0) * 1000
    figures["first record"] = (session.press(first, 0.2)[0] or 0) * 1000
    return session, figures


def strata_only(session, figures, arguments):
    before, processor = session.total, session.processor()
    time.sleep(20)
    session.settle(0)
    figures["idle bytes"] = (session.total - before) * 3
    figures["idle processor"] = (session.processor() - processor) / 20 * 100
    before = session.memory()
    for _ in range(arguments.pages // 50):
        os.write(session.file, b"\x1b[6~" * 50)
        session.settle(0.02)
    figures["memory growth"] = session.memory() - before
    session.press("gg", 0.2)
    # A filter without an index, typed: from its last key and Enter, which waits for no pause, to its first record; then Esc
    # while it scans on.
    session.press("f", 0.2)
    session.press('title *= "Solaris', 0.2)
    session.seen = b""
    os.write(session.file, b'"\r')
    figures["filter first hit"] = session.until("Solaris 1") * 1000
    session.seen = b""
    os.write(session.file, b"\x1b")
    figures["filter cancel"] = session.until("cancelled") * 1000
    session.settle(0.2)
    session.press("\x1b", 0.2)
    # The keys of some prompts, most of which change the list of what completes them.
    sizes = []
    for prompt, sentence in (":", "difference 2 3"), (":", "frequency title"), (":", "export books.csv"), ("f", "author = \"Le Guin\""):
        session.press(prompt, 0.2)
        sizes += [session.press(key, 0.05)[1] for key in sentence]
        for _ in range(3):
            session.press("\x1b", 0.2)
    figures["prompt bytes"] = sum(sizes) / len(sizes)
    session.end()


def difference(program, store, figures):
    """From Enter behind `:difference 2 3` to the changes on the screen."""
    session = Session([program, store, "Book"])
    session.until("The Left Hand")
    session.settle(0.3)
    session.press(":difference 2 3", 0.3)
    session.seen = b""
    os.write(session.file, b"\r")
    figures["difference"] = session.until("1 of 200") * 1000
    session.end()


def large_record(program, store, figures):
    """From Enter on another datastore to its record of 10 MB, and from Enter on the long value to its text."""
    session = Session([program, store, "Book"])
    session.until("The Left Hand")
    session.settle(0.3)
    session.press("1", 0.2)
    session.press("j", 0.2)
    session.seen = b""
    os.write(session.file, b"\r")
    figures["10 MB record"] = session.until("ten megabytes") * 1000
    session.settle(0.3)
    session.press("3", 0.2)
    session.press("j", 0.2)
    session.seen = b""
    os.write(session.file, b"\r")
    figures["10 MB value"] = session.until(" 1 of ") * 1000
    session.settle(0.3)
    figures["10 MB scroll p50"], _, _ = latencies(session, "j", 50)
    session.end()


def pictures(program, cities, figures):
    """From the key to the whole picture: the histogram of a million entries anew, describe and plot of all cities."""
    session = Session([program, cities, "City"], STRATA_IDLE_FD="1")
    session.idle()
    session.press("I", 0)
    figures["describe first rows"] = session.until("greatest", since=session.pressed) * 1000
    figures["describe"] = session.idle() * 1000
    session.press("q", 0.2)
    session.press(":plot longitude latitude", 0.2)
    session.press("\r", 0)
    figures["plot"] = session.idle() * 1000
    session.end()


def histogram(program, store, figures):
    """From the key that asks for other bins to their picture."""
    session = Session([program, store, "Book"], STRATA_IDLE_FD="1")
    session.idle()
    session.press(":sort stock\r", 0)
    session.idle()
    session.press("5", 0)
    session.idle()
    times = []
    for _ in range(10):
        session.press("ge", 0)
        times.append(session.idle() * 1000)
    figures["histogram"] = percentile(times, 0.5)
    session.end()


# Data

TITLES = ["The Left Hand of Darkness", "Solaris", "Kindred", "Roadside Picnic", "Invisible Cities", "Žofie a drak",
          "ペンギン・ハイウェイ", "The Dispossessed"]
AUTHORS = ["Le Guin", "Lem", "Butler", "Strugatski", "Calvino", "Öztürk", "森見", "Čapek"]


def record(number):
    return {"id": number, "title": f"{TITLES[number % 8]} {number}", "author": AUTHORS[number * 7 % 8],
            "price": number * 37 % 4000 / 100, "stock": number * 13 % 97}


def make_store(program, folder, count):
    text, store = folder / "books.jsonl", folder / "books.strata"
    with open(text, "w") as file:
        for number in range(count):
            file.write(json.dumps(record(number), ensure_ascii=False) + "\n")
    run = lambda *words, **more: subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL, **more)
    run("import", store, "Book", text, "--id", "id", "--index", "author=author", "--index", "stock=stock")
    large = folder / "large.jsonl"
    large.write_text(json.dumps({"id": "kilo", "text": "ten megabytes of text " * 460_000}) + "\n")
    run("import", store, "Large", large, "--id", "id")
    changed = "\n".join(
        json.dumps({**record(number * (count // 200)), "stock": 1_000}, ensure_ascii=False) for number in range(200))
    run("put", store, "Book", "--name", "two hundred changes", input=changed.encode())
    return text, store


CITIES = 234_908


def make_cities(program, folder):
    """As many cities as the great list has, with the fields of the sample's."""
    chance = random.Random(7)
    text, store = folder / "cities.jsonl", folder / "cities.strata"
    countries = ["".join(chance.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=2)) for _ in range(200)]
    with open(text, "w") as file:
        for number in range(CITIES):
            name = f"{TITLES[number % 8].split()[0]} {number}"
            city = {"geonameid": number * 31 + 7, "name": name, "latitude": round(chance.uniform(-60, 75), 5),
                    "longitude": round(chance.uniform(-180, 180), 5), "countrycode": chance.choice(countries),
                    "population": int(chance.lognormvariate(8, 2)), "timezone": f"Zone/{number % 300}",
                    "admin1code": f"{number % 90:02}", "alternatenames": [name, name.upper()]}
            file.write(json.dumps(city, ensure_ascii=False) + "\n")
    subprocess.run([program, "import", store, "City", text, "--id", "geonameid", "--index", "population=population"],
                   check=True, stdout=subprocess.DEVNULL)
    return store


def make_repository(folder):
    """For tig: 20,000 commits."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    lines = []
    for number in range(20_000):
        lines.append(f"commit refs/heads/main\ncommitter A <a@b> {1_600_000_000 + number} +0000\n"
                     f"data 12\ncommit {number:05}\n")
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input="".join(lines).encode(), check=True)
    subprocess.run(["git", "-C", folder, "symbolic-ref", "HEAD", "refs/heads/main"], check=True)


# The table

BUDGETS = [  # name, unit, budget
    ("first frame", "ms", 10), ("rows", "ms", 15), ("memory", "MB", 26), ("memory growth", "MB", 4),
    ("cursor p50", "ms", 0.4), ("cursor p99", "ms", 8), ("scroll p50", "ms", 1), ("scroll p99", "ms", 8), ("page p50", "ms", 2), ("page p99", "ms", 12),
    ("last record", "ms", 20), ("first record", "ms", 20), ("cursor bytes", "bytes", 300), ("scroll bytes", "bytes", 2_000),
    ("page bytes", "bytes", 6_000), ("start bytes", "bytes", 8_000), ("prompt bytes", "bytes", 300),
    ("idle bytes", "a minute", 0),
    ("idle processor", "%", 0.1), ("filter first hit", "ms", 50), ("filter cancel", "ms", 50), ("difference", "ms", 30),
    ("10 MB record", "ms", 100), ("10 MB value", "ms", 100), ("10 MB scroll p50", "ms", 1), ("histogram", "ms", 20),
    ("describe first rows", "ms", 100), ("describe", "ms", 1_500), ("plot", "ms", 1_000),
]


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return f"{os.cpu_count()} × {model}, Linux {os.uname().release.split('-')[0]}, load {os.getloadavg()[0]:.1f} before"


def table(all_figures):
    """Lines of a Markdown table, a program a column."""
    lines = ["| | budget | " + " | ".join(all_figures) + " |", "|---|---:|" + "---:|" * len(all_figures)]
    for name, unit, budget in BUDGETS:
        values = [figures.get(name) for figures in all_figures.values()]
        cells = ["–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.2f}" for value in values]
        lines.append(f"| {name} | {budget:,} {unit} | " + " | ".join(cells) + " |")
    return lines


def missed(figures, times):
    return [name for name, _, budget in BUDGETS if figures.get(name) is not None and figures[name] > budget * times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(HERE.parent.parent / ".build/release/strata"))
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--results", help="a Markdown file to write the table to")
    parser.add_argument("--pages", type=int, default=10_000, help="pages walked for the growth of memory")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    load = machine()
    results = arguments.results and os.path.abspath(arguments.results)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ.update(XDG_STATE_HOME=name + "/state", XDG_CONFIG_HOME=name + "/config")
        text, store = make_store(program, folder, arguments.records)
        os.sync()  # what the import left to the kernel to write is no work of those that are measured
        session, strata = walk([program, store, "Book"], "The Left Hand", first="gg")
        strata_only(session, strata, arguments)
        difference(program, store, strata)
        large_record(program, store, strata)
        histogram(program, store, strata)
        pictures(program, make_cities(program, folder), strata)
        figures = {"strata": strata}
        if shutil.which("less"):
            session, figures["less"] = walk(["less", "-S", text], "The Left Hand", LESSHISTFILE="-")
            session.end()
        if shutil.which("tig"):
            make_repository(folder / "repository")
            os.chdir(folder / "repository")  # tig shows the repository that it is in
            session, figures["tig"] = walk(["tig"], "commit 19999", last="\x1b[F", first="\x1b[H")
            session.end()
            os.chdir(HERE)
        if shutil.which("vd"):
            session, figures["VisiData"] = walk(["vd", text], "The Left Hand", first="gg")
            session.end()
        if shutil.which("lnav"):  # it begins at the end of a file, and keeps its settings in the home folder
            session, figures["lnav"] = walk(["lnav", "-c", ":goto 0", text], "Solaris 1", HOME=name)
            session.end()
    report(arguments, results, figures, load)


def report(arguments, results, figures, load):
    late = missed(figures["strata"], 1)
    lines = [
        "# The browser against its budgets", "",
        f"`make bench-browser`, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC: {arguments.records:,} records of "
        f"about 100 bytes with two indexes, {CITIES:,} cities for describe and plot, {WIDE[0]}×{WIDE[1]}, {load}. "
        "Milliseconds are from the key or the start to the first byte (rows, difference, record: to the text; histogram, "
        "describe, plot: to the whole picture); memory is the whole resident set, mapped pages of the store "
        "included; “scroll” is a cursor key that moves all rows, “prompt bytes” the mean of a key in a prompt. tig shows 20,000 commits instead.", "",
        *table(figures), "",
        "Beyond the budget: " + (", ".join(late) if late else "nothing") + ".", ""]
    print("\n".join(lines))
    if results:
        pathlib.Path(results).write_text("\n".join(lines))
    twice = missed(figures["strata"], 2)
    if twice:
        sys.exit("more than twice the budget: " + ", ".join(twice))


if __name__ == "__main__":
    main()
