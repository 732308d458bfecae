#!/usr/bin/env -S python3 -SE
"""browser.py: the plugin `browser` in the image of the clients, which has Chromium; prints TAP.

What `hutch plugin install` makes, and the tasks of browsergym-miniwob, come from PyPI, once.
$HUTCH and $XDG_DATA_HOME as for user.sh."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys

from clients import HUTCH, reaches, tell

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(TOP / "tests/run"))
from act import Act  # noqa: E402

DATA = pathlib.Path(os.environ["XDG_DATA_HOME"])
MINIWOB = DATA / "miniwob"
PAGE = """[Current URL: http://localhost:8000/a]
============== BEGIN webpage content ==============
#  Hello & welcome \n
Some **text** with a [ link to B ](/b) . \n
Press 

============== END webpage content ==============
"""


def mirror_of(host):
    """Returns flags for a mirror of a registry whose address is not public; None: this host does
    not reach the registry."""
    address = reaches(host)
    return None if address is None else [] if address.is_global else ["--allow", str(address)]


def has_plugin(name, registry):
    """Installs the plugin unless its program has done so.  Returns whether it is there then."""
    program, last = (TOP / "plugins" / name / "install.sh").read_text(), DATA / f"{name}.installed"
    if last.exists() and last.read_text() == program:
        return True
    mirror = mirror_of(registry)
    if mirror is None:
        print(f"ok - the plugin {name} # SKIP this host has no way to {registry}")
        return False
    done = subprocess.run([HUTCH, "plugin", "install", *mirror, name], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tell(done.returncode == 0, f"hutch plugin install {name}", done)
    if done.returncode == 0:
        last.write_text(program)
    return done.returncode == 0


def has_miniwob():
    """Gets the tasks, and their pages, which are files in another package."""
    if MINIWOB.exists():
        return True
    mirror = mirror_of("pypi.org")
    if mirror is None:
        print("ok - the tasks of browsergym # SKIP this host has no way to pypi.org")
        return False
    part = pathlib.Path(f"{MINIWOB}.part")
    part.mkdir(exist_ok=True)
    done = subprocess.run([HUTCH, "run", "--allow", "@pypi", *mirror, "-v", f"{part}:/eval:rw", "--",
                           "python3", "-m", "pip", "install", "-q", "--no-cache-dir", "--no-deps", "--upgrade",
                           "--target", "/eval", "browsergym-miniwob==0.13.3", "miniwob==1.1.0"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tell(done.returncode == 0, "the tasks of browsergym are installed", done)
    if done.returncode == 0:
        part.rename(MINIWOB)
    return done.returncode == 0


class Box(Act):
    def __init__(self, *options):
        super().__init__(HUTCH, ["--image", "clients", "--plugin", "browser",
                                 "-v", f"{TOP}/tests/clients/pages.py:/pages.py:ro", *options])

    def run(self, command):
        return self.action("run", command=command)

    def browse(self, url, **args):
        return self.action("browse", url=url, **args)

    def do(self, *actions, timeout=None, **args):
        return self.action("browse_interactive", timeout=timeout, browser_actions="\n".join(actions), **args)


def goto(path):
    return f'goto("http://localhost:8000{path}")'


def bid_of(o, text):
    return re.search(rf"\[(\w+)\] {text}", o.content)[1]


def shows_a_page(box):
    o = box.browse("http://localhost:8000/a")
    assert o.observation == "browse" and o.content == PAGE, o.content
    assert not o.extras["error"] and o.extras["open_pages_urls"] == ["http://localhost:8000/a"], o.extras
    for name in ("screenshot", "set_of_marks"):
        png = base64.b64decode(o.extras[name].removeprefix("data:image/png;base64,"))
        assert int.from_bytes(png[16:20], "big") == 1280 and int.from_bytes(png[20:24], "big") == 720
    assert box.run(f"file -b '{o.extras['screenshot_path']}' || ls '{o.extras['screenshot_path']}'").success


def acts_on_elements(box):
    o = box.do(goto("/a"))
    o = box.do(f'fill("{bid_of(o, "textbox")}", "alice")', f'click("{bid_of(o, "button")}")', return_axtree=True)
    assert "[Action executed successfully.]\nAccessibility tree of the COMPLETE webpage:\n" in o.content, o.content
    assert "value='alice'" in o.content and "button 'Was clicked'" in o.content, o.content
    assert '"nodes"' in o.hutch["data"]["axtree_object"] and o.hutch["data"]["extra_element_properties"]


def says_what_failed(box):
    for action, error in [("nothing", "ValueError: Received an empty action."),
                          ("frob(1)", "NameError: Invalid action type 'frob'."),
                          ('click("zz")', 'ValueError: Could not find element with bid "zz"')]:
        o = box.do(action)
        assert o.extras["error"] and o.extras["last_browser_action_error"] == error, o.extras
        assert f"when executing the last action:\n{error}\n=====" in o.content, o.content
    o = box.browse("https://example.com/")
    assert o.extras["error"] and "The following error occurred when trying to visit the URL:\nError: Page.goto: net::" \
        in o.content, o.content


def saves_a_download(box):
    o = box.do(goto("/file"))
    saved = o.hutch["data"]["downloaded"]
    assert saved.endswith("/file_1.pdf") and o.content == (
        f"Execution of the previous action {goto('/file')} resulted in a file download. "
        f"The downloaded file is saved at location: {saved}"), o
    assert box.run(f"cat {saved}").content == "%PDF-1.4"


def gives_up_a_page_that_never_loads(box):
    o = box.do(goto("/never"), timeout=4)
    assert o.extras["error"] and "Timeout" in o.extras["last_browser_action_error"], o.extras
    assert "Page B" in box.do(goto("/b")).content


def ends_a_script_without_end(box):
    o = box.do(goto("/loop"))
    o = box.do(f'click("{bid_of(o, "button")}")', timeout=4)
    assert o.extras["error"], o.extras
    assert "Page B" in box.do(goto("/b")).content


def bounds_tabs_and_nodes(box):
    o = box.do(goto("/tabs"))
    o = box.do(f'click("{bid_of(o, "button")}")')
    closed = [0]
    while closed[-1] < 101 - 40 and len(closed) < 100:  # tabs may still come when an action is over
        assert len(o.extras["open_pages_urls"]) <= 41, o
        told = re.search(r"\[(\d+) new tabs were closed, since 40 are open\.\]", o.content)
        closed.append(closed[-1] + (int(told[1]) if told else 0))
        o = box.do("noop(1)")
    assert closed[-1] == 101 - 40, closed
    o = box.do(goto("/large"))
    assert "StaticText 'beginning" in o.content and "The page is too large for a complete tree" in o.content, o.content


def starts_a_browser_that_has_ended_anew(box):
    box.do(goto("/b"))
    assert box.run("pkill -KILL chromium").success
    o = box.do(goto("/b"))
    assert "Page B" in o.content and "[The browser had ended and was started anew." in o.content, o.content


def evaluates_a_task(box):
    o = box.do("GET_EVAL_GOAL")
    assert o.content == "Click the button." and o.extras["goal_image_urls"] == [], o
    assert box.do("GET_EVAL_REWARDS").content == "[]"
    o = box.do("noop()")
    rewards = box.do("GET_EVAL_REWARDS").content
    assert o.extras["url"].endswith("/click-test.html") and json.loads(rewards) == [0], rewards
    o = box.do(f'click("{bid_of(o, "button")}")')
    rewards = json.loads(box.do("GET_EVAL_REWARDS").content)
    assert len(rewards) == 2 and 0 < rewards[1] <= 1, rewards


CASES = (shows_a_page, acts_on_elements, says_what_failed, saves_a_download, gives_up_a_page_that_never_loads,
         ends_a_script_without_end, bounds_tabs_and_nodes, starts_a_browser_that_has_ended_anew)


def check(case, box):
    name = f"the plugin browser {case.__name__.replace('_', ' ')}"
    try:
        case(box)
        print(f"ok - {name}", flush=True)
    except (AssertionError, KeyError, TypeError, AttributeError) as e:
        print(f"not ok - {name}\n# {str(e)[:2000]!r}", flush=True)


def main():
    if not has_plugin("browser", "pypi.org"):
        return
    box = Box()
    box.run("python3 /pages.py")
    for case in CASES:
        check(case, box)
    box.end()
    if has_miniwob():
        box = Box("-v", f"{MINIWOB}:/eval:ro", "-e", "PYTHONPATH=/eval",
                  "-e", "MINIWOB_URL=file:///eval/miniwob/html/miniwob/",
                  "-e", "HUTCH_BROWSERGYM_EVAL_ENV=browsergym/miniwob.click-test")
        check(evaluates_a_task, box)
        box.end()


if __name__ == "__main__":
    main()
