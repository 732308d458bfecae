#!/usr/bin/env python3
"""terminal.py HUTCH: runs the commands below with that hutch, and prints the recording as SVG,
for the README: docs/terminal.svg.

Each line appears when it would be typed or printed, and all of them stay for a while before the
recording begins again.  A reader who wants no motion (prefers-reduced-motion) sees all at once.
"""
import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMANDS = [
    "hutch run -- sh -c 'id -un; ls -A ~; cat /etc/shadow'",
    "hutch run -- curl -sS http://192.0.2.1",
    "hutch run --workspace project:cow -- sh -c 'echo new >notes; rm Makefile'",
    "hutch diff RUN",
    "hutch apply -y RUN notes",
    "hutch why --workspace project:ro write /workspace/notes",
]
COLUMNS = 80
WIDTH, HEIGHT, MARGIN = 8.4, 19, 14  # of a character, of a row, around all, in pixels
TYPING, READING, REST = 0.6, 0.9, 6  # seconds before a command, after its output, at the end
STYLE = """text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  fill: #d8dee9; white-space: pre }
.command { fill: #a3d18f } .hutch { fill: #e5c07b }"""


def rows_of(folder, hutch):
    """Runs the commands, and returns a list of (seconds, class, text) with the rows that they
    print, at the times at which they appear."""
    environment = {**os.environ, "PATH": f"{hutch.parent}:{os.environ['PATH']}"}
    at, name, rows = 0.0, "", []
    for command in COMMANDS:
        command = command.replace("RUN", name)
        at += TYPING
        rows.append((at, "command", f"$ {command}"))
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if kept := re.search(r"kept as (run-\w+)", done.stdout):
            name = kept[1]
        text = done.stdout.replace(str(folder), "/home/ada")
        at += READING
        for line in text.splitlines():
            kind = "hutch" if line.startswith("hutch:") else "output"
            rows += [(at, kind, line[i:i + COLUMNS]) for i in range(0, len(line), COLUMNS)]
    return rows


def svg(rows):
    total = rows[-1][0] + REST
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    times = sorted({at for at, *_ in rows})
    shown = [f"@keyframes t{n} {{ 0%, {at / total:.2%} {{ opacity: 0 }} "
             f"{at / total + 1e-4:.2%}, 100% {{ opacity: 1 }} }}\n"
             f".t{n} {{ animation: t{n} {total:.1f}s infinite }}" for n, at in enumerate(times)]
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
           f'width="{width:.0f}" height="{height}" role="img">')
    yield f"<title>{html.escape(rows[0][2])}</title>\n<style>\n{STYLE}"
    yield "@media (prefers-reduced-motion: no-preference) {\n" + "\n".join(shown) + "\n}\n</style>"
    yield '<rect width="100%" height="100%" rx="8" fill="#1f2430"/>'
    for number, (at, kind, text) in enumerate(rows):
        y = MARGIN + (number + 0.75) * HEIGHT
        yield (f'<text xml:space="preserve" x="{MARGIN}" y="{y:.0f}" class="{kind} t{times.index(at)}">'
               f"{html.escape(text)}</text>")
    yield "</svg>"


def main():
    hutch = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder, "project")
        project.mkdir()
        project.joinpath("notes").write_text("old\n", encoding="utf-8")
        project.joinpath("Makefile").write_text("all:\n\ttrue\n", encoding="utf-8")
        os.environ["XDG_DATA_HOME"] = f"{folder}/data"
        print("\n".join(svg(rows_of(pathlib.Path(folder), hutch))))


if __name__ == "__main__":
    main()
