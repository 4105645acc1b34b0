#!/usr/bin/env python3
"""Takes the pictures of this folder from the real program, on the sample, in a real pseudo-terminal.

    make build && python3 Screenshots/take.py [--program PATH] [NAME…]

Needs: PyPI pyte (which brings wcwidth) and, for the moving picture, pillow; Debian librsvg2-bin (rsvg-convert),
fonts-dejavu-core, fonts-noto-cjk.
The list of pictures is pictures.txt beside this script. Each becomes NAME.png; one whose size is followed by `moving`
becomes NAME.gif. Nothing is drawn by hand: the program runs, gets the keys that a person would press, and what
a terminal then shows is turned into SVG.
"""
import argparse
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from xml.sax.saxutils import escape

import pyte
import wcwidth

HERE = pathlib.Path(__file__).parent
PATIENCE = 120  # seconds after which something is taken never to happen
pyte.graphics.TEXT[2] = "+blink"  # pyte knows no dim text, and the program never blinks
IDLE = re.compile(rb"\x1b\]7777;idle;(\d+);(\d+x\d+)\x07")

KEYS = {"Enter": "\r", "Tab": "\t", "Esc": "\x1b", "Space": " ", "Backspace": "\x7f", "Up": "\x1b[A", "Down": "\x1b[B",
        "Right": "\x1b[C", "Left": "\x1b[D", "Home": "\x1b[H", "End": "\x1b[F", "PageUp": "\x1b[5~",
        "PageDown": "\x1b[6~", "S-Tab": "\x1b[Z"}


class Screen(pyte.Screen):
    """A terminal that also scrolls by SU and SD, which pyte leaves out and curses uses."""

    def scroll_up(self, count=1):
        self.scroll(count, (self.margins or pyte.screens.Margins(0, self.lines - 1)).bottom, self.index)

    def scroll_down(self, count=1):
        self.scroll(count, (self.margins or pyte.screens.Margins(0, self.lines - 1)).top, self.reverse_index)

    def scroll(self, count, row, step):
        former, self.cursor.y = self.cursor.y, row
        for _ in range(count or 1):
            step()
        self.cursor.y = former


pyte.Stream.csi = {**pyte.Stream.csi, "S": "scroll_up", "T": "scroll_down"}
pyte.Stream.events |= {"scroll_up", "scroll_down"}


class Program:
    """The program on a pseudo-terminal, and what the terminal shows."""

    def __init__(self, command, columns, rows, environment):
        self.screen = Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.sent, self.idle_at = 0, -1
        self.pending = b""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ.update(environment)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(command[0], command)

    def read(self):
        ready, _, _ = select.select([self.file], [], [], PATIENCE)
        if not ready:
            sys.exit("nothing more comes; the screen is:\n" + "\n".join(self.screen.display))
        try:
            data = os.read(self.file, 65536)
        except OSError:
            data = b""
        if not data:
            sys.exit("the program has ended; the screen was:\n" + "\n".join(self.screen.display))
        data = self.pending + data
        cut = data.rfind(b"\x1b]")
        # A message that has not ended yet; one ends with BEL or with ESC and a backslash.
        self.pending = data[cut:] if cut >= 0 and not re.search(rb"\x07|\x1b\\", data[cut:]) else b""
        data = data[:len(data) - len(self.pending)]
        for match in IDLE.finditer(data):
            self.idle_at = int(match.group(1))
        self.stream.feed(IDLE.sub(b"", data))

    def wait_until_idle(self):
        while self.idle_at < self.sent:
            self.read()

    def shows(self, text):
        return any(text in line for line in self.screen.display)

    def wait_for(self, text):
        while not self.shows(text):
            self.read()
        end = time.monotonic() + 0.3  # running work draws without a pause
        while time.monotonic() < end and select.select([self.file], [], [], 0.05)[0]:  # the rest of that picture
            self.read()

    def send(self, text):
        data = text.encode()
        os.write(self.file, data)
        self.sent += len(data)

    def close(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        os.close(self.file)


def chords(text):
    """`gg ^d Enter` as what an xterm sends, one string a key."""
    for word in text.split():
        if word in KEYS:
            yield KEYS[word]
        elif len(word) == 2 and word[0] == "^":
            yield chr(ord(word[1].upper()) & 0x1F)
        else:
            yield from word


class Film:
    """The screens of a moving picture, each with how long it is shown; those that are alike are one."""

    KEY = 160  # milliseconds that the screen after a key is shown
    ZOOM = 1.5  # so that it can be read at half its size

    def __init__(self, program):
        self.program, self.frames = program, []

    def watch(self, text):
        """Shows running work as it goes, at most ten pictures a second, until the screen shows a text."""
        begin = time.monotonic()
        while not self.program.shows(text):
            self.program.read()
            passed = time.monotonic() - begin
            if passed > 0.1:
                self.take(int(passed * 1000))
                begin = time.monotonic()
        self.program.wait_for(text)
        self.take()

    def take(self, milliseconds=KEY):
        picture = svg(self.program.screen)
        if self.frames and self.frames[-1][0] == picture:
            self.frames[-1][1] += milliseconds
        else:
            self.frames.append([picture, milliseconds])

    def write(self, path):
        from PIL import Image

        images = []
        with tempfile.TemporaryDirectory() as folder:
            for number, (picture, _) in enumerate(self.frames):
                source, target = f"{folder}/{number}.svg", f"{folder}/{number}.png"
                pathlib.Path(source).write_text(picture)
                subprocess.run(["rsvg-convert", "--zoom", str(self.ZOOM), "-o", target, source], check=True)
                images.append(Image.open(target).convert("RGB"))
        # One palette for all: of the frames beside each other.
        strip = Image.new("RGB", (images[0].width, images[0].height * min(8, len(images))))
        for place in range(min(8, len(images))):
            strip.paste(images[place * len(images) // min(8, len(images))], (0, place * images[0].height))
        palette = strip.quantize(64, dither=Image.Dither.NONE)
        images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
        print(f"{sum(time for _, time in self.frames) / 1000:.0f} seconds, {len(images)} pictures")
        images[0].save(path, save_all=True, append_images=images[1:], duration=[time for _, time in self.frames],
                       loop=0, optimize=True, disposal=1)


def play(program, steps, film=None):
    for verb, _, rest in (step.partition(" ") for step in steps):
        if verb == "hold":  # in a moving picture, so many milliseconds more
            film.take(int(rest))
            continue
        if verb == "watch":
            film.watch(rest)
            continue
        if film and verb in ("keys", "type"):
            for key in chords(rest) if verb == "keys" else rest:
                program.send(key)
                program.wait_until_idle()
                film.take(70 if verb == "type" else Film.KEY)
            continue
        if verb == "keys":
            for key in chords(rest):
                program.send(key)
                program.wait_until_idle()
        elif verb == "keys-now":  # while work goes on
            for key in chords(rest):
                program.send(key)
        elif verb == "type":
            program.send(rest)
            program.wait_until_idle()
        elif verb == "wait":
            program.wait_for(rest)
        else:
            sys.exit(f"no step is called {verb}")


# The picture

WIDTH, HEIGHT, MARGIN = 8.43, 18, 12  # the advance of DejaVu Sans Mono at 14 px
PAPER, INK = "#1d2026", "#d8dee9"
NAMED = {"black": "#3b4252", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef",
         "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d8dee9", "brightblack": "#7f8a9c",
         "brightred": "#ff7b86", "brightgreen": "#b5e890", "brightbrown": "#ffd68a", "brightblue": "#86c8ff",
         "brightmagenta": "#e29bf5", "bfightmagenta": "#e29bf5", "brightcyan": "#7fdde8", "brightwhite": "#ffffff"}
EIGHTHS = " ▁▂▃▄▅▆▇█"  # bars from below; from the left there are fewer in use
BESIDE = {"▏": 1, "▎": 2, "▍": 3, "▌": 4, "▋": 5, "▊": 6, "▉": 7}
BOX = {"─": "lr", "━": "LR", "│": "ud", "┃": "UD", "┌": "dr", "┐": "dl", "└": "ur", "┘": "ul", "┏": "DR", "┓": "DL",
       "┗": "UR", "┛": "UL", "├": "udr", "┤": "udl", "┬": "dlr", "┴": "ulr", "┼": "udlr", "╭": "dr", "╮": "dl", "╯": "ul"}


def color(name, standard):
    if name == "default":
        return standard
    return NAMED.get(name) or "#" + name




def svg(screen):
    backgrounds, texts = [], []
    for row in range(screen.lines):
        line, run = screen.buffer[row], None
        for column in range(screen.columns + 1):
            cell = line[column] if column < screen.columns else None
            if cell is not None and cell.data == "":
                continue
            look = cell and (
                cell.fg, cell.bg, cell.bold, cell.blink, cell.italics, cell.underscore, cell.reverse)
            plain = cell is not None and cell.data.isascii()
            if run and (cell is None or look != run[2] or not plain or not run[1].isascii()):
                draw(run, row, backgrounds, texts)
                run = None
            if cell is not None:
                run = (run[0], run[1] + cell.data, look) if run else (column, cell.data, look)
    x, y = MARGIN + screen.cursor.x * WIDTH, MARGIN + screen.cursor.y * HEIGHT
    cursor = "" if screen.cursor.hidden else (
        f'<rect x="{x:.1f}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{INK}"/>\n')
    width, height = screen.columns * WIDTH + 2 * MARGIN, screen.lines * HEIGHT + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        'font-family="DejaVu Sans Mono, Noto Sans Mono CJK JP, Noto Sans CJK JP, DejaVu Sans, monospace" '
        'font-size="14">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
        f'<g shape-rendering="crispEdges">\n{"".join(backgrounds)}</g>\n{"".join(texts)}{cursor}</svg>\n')


def draw(run, row, backgrounds, texts):
    column, text, (fg, bg, bold, dim, italic, underline, reverse) = run
    ink, paper = color(fg, INK), color(bg, PAPER)
    if reverse:
        ink, paper = paper, ink
    x, y = MARGIN + column * WIDTH, MARGIN + row * HEIGHT
    columns = len(text) if text.isascii() else 2 if wide(text) else 1
    if paper != PAPER:
        backgrounds.append(
            f'<rect x="{x:.2f}" y="{y}" width="{columns * WIDTH:.2f}" height="{HEIGHT}" fill="{paper}"/>\n')
    if text in BOX:
        middle = (x + WIDTH / 2, y + HEIGHT / 2)
        ends = {"u": (middle[0], y), "d": (middle[0], y + HEIGHT), "l": (x, middle[1]), "r": (x + WIDTH, middle[1])}
        for side in BOX[text]:
            end = ends[side.lower()]
            texts.append(
                f'<path d="M{middle[0]:.1f} {middle[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" stroke="{ink}" '
                f'stroke-width="{2 if side.isupper() else 1}" stroke-linecap="square"/>\n')
        return
    if text in EIGHTHS and len(text) == 1 and text != " " or text in BESIDE:  # a font leaves gaps between lines
        part = EIGHTHS.find(text) / 8 if text in EIGHTHS else 1
        left = BESIDE.get(text, 8) / 8
        opacity = ' opacity="0.6"' if dim else ""
        backgrounds.append(
            f'<rect x="{x:.2f}" y="{y + HEIGHT * (1 - part):.2f}" width="{WIDTH * left:.2f}" '
            f'height="{HEIGHT * part:.2f}" fill="{ink}"{opacity}/>\n')
        return
    words = text.lstrip(" ")
    if not words.strip():
        return
    x += (len(text) - len(words)) * WIDTH
    looks = (' font-weight="bold"' if bold else "") + (' font-style="italic"' if italic else "")
    looks += (' text-decoration="underline"' if underline else "") + (' opacity="0.6"' if dim else "")
    texts.append(
        f'<text x="{x:.1f}" y="{y + 13.5:.1f}" fill="{ink}"{looks} xml:space="preserve">{escape(words)}</text>\n')


def wide(text):
    return wcwidth.wcswidth(text) == 2


# What is done before the program is shown

def prepare(program, steps, home):
    """Does the steps that come before the program starts; answers the others."""
    rest = []
    for step in steps:
        verb, *words = step.replace("HOME", home).split(" ")
        if verb == "run":
            subprocess.run([program] + words, check=True, stdout=subprocess.DEVNULL)
        elif verb == "edit":
            path, datastore, identifier, field, *value = words
            line = subprocess.run([program, "get", path, datastore, identifier, "--json"], check=True, capture_output=True)
            record = json.loads(line.stdout)["value"]
            record[field] = json.loads(" ".join(value))
            subprocess.run([program, "put", path, datastore, "--name", f"Correct {field} of {record['name']}"], check=True,
                           input=json.dumps(record).encode(), stdout=subprocess.DEVNULL)
        elif verb == "many":  # so many cities as a file of documents, those of the sample again and again under other numbers
            cities = (HERE.parent / "Sources/StrataAtlas/Resources/cities.jsonl").read_text().splitlines()
            with open(words[1], "w") as file:
                for number in range(int(words[0])):
                    city = json.loads(cities[number % len(cities)])
                    city["geonameid"] += number // len(cities) * 100_000_000
                    file.write(json.dumps(city) + "\n")
        else:
            rest.append(step)
    return rest


# The list

def pictures():
    """NAME COLUMNSxROWS [moving] ARGUMENTS, then indented steps."""
    found = []
    for line in (HERE / "pictures.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            found[-1][3].append(line.strip())
        else:
            name, size, *arguments = line.split()
            columns, rows = map(int, size.split("x"))
            moves = arguments[:1] == ["moving"]
            found.append((name, (columns, rows), arguments[moves:], [], moves))
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", default=str(HERE.parent / ".build/release/strata"))
    arguments.add_argument("names", nargs="*")
    wanted = arguments.parse_args()
    if shutil.which("rsvg-convert") is None:
        sys.exit("rsvg-convert is missing: apt install librsvg2-bin")
    with tempfile.TemporaryDirectory() as home:
        environment = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC", "STRATA_IDLE_FD": "1", "HOME": home,
                       "XDG_DATA_HOME": home + "/data", "XDG_STATE_HOME": home + "/state",
                       "XDG_CONFIG_HOME": home + "/config", "USER": "ada", "LOGNAME": "ada"}
        for name, (columns, rows), words, steps, moves in pictures():
            if wanted.names and name not in wanted.names:
                continue
            words = [word.replace("HOME", home).replace("HERE", str(HERE)) for word in words]
            os.environ.update(environment)
            steps = prepare(os.path.abspath(wanted.program), steps, home)
            program = Program([os.path.abspath(wanted.program)] + words, columns, rows, environment)
            if moves:
                film = Film(program)
                play(program, steps, film)
                film.write(HERE / f"{name}.gif")
                program.close()
                print(HERE / f"{name}.gif")
                continue
            play(program, steps)
            picture = HERE / f"{name}.png"
            subprocess.run(["rsvg-convert", "--zoom", "1.5", "-o", picture], input=svg(program.screen).encode(), check=True)
            program.close()
            print(picture)


if __name__ == "__main__":
    main()
