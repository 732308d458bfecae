"""report.py: shared by the lints of the tests: the list of files, and TAP."""
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]


def files(folders, endings):
    """Returns the files that git tracks or would add, or, without git, all
    files; sorted, from TOP."""
    try:
        said = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                               "-z",
                               "--", *folders], cwd=TOP, check=True, capture_output=True)
        names = {name for name in said.stdout.decode().split("\0") if (TOP / name).is_file()}
    except (OSError, subprocess.CalledProcessError):
        names = {os.path.relpath(os.path.join(at, name), TOP) for folder in folders
                 for at, _, names in os.walk(TOP / folder) for name in names}
    return sorted(name for name in names if name.endswith(endings))


def text_of(name):
    return (TOP / name).read_text(encoding="utf-8", errors="surrogateescape")


def tell(checks):
    """Prints TAP for checks, pairs of a sentence and its findings.  Returns the
    exit code."""
    number = failed = 0
    for sentence, findings in checks:
        findings = list(findings)
        for finding in findings:
            number, failed = number + 1, failed + 1
            print(f"not ok {number} - {finding}")
        if not findings:
            number += 1
            print(f"ok {number} - {sentence}")
    print(f"1..{number}")
    return 1 if failed else 0
