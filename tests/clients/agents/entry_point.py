"""entry_point.py SOURCE FOLDER: writes what an installation of SOURCE would say of itself."""
import pathlib
import sys
import tomllib

source, folder = map(pathlib.Path, sys.argv[1:])
project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
info = folder / f"{project['name']}-{project['version']}.dist-info"
info.mkdir(parents=True)
(info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
points = project["entry-points"]
(info / "entry_points.txt").write_text("".join(
    f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
    for group, named in points.items()))
