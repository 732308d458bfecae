#!/usr/bin/env -S python3 -SE
"""browser.py: the plugin `browser` in the image of the clients, which has Chromium.  The packages
that its driver needs come from PyPI, once.  $HUTCH and $XDG_DATA_HOME as for user.sh."""
import base64
import os
import pathlib
import re
import subprocess
import sys

from clients import AUTHORITIES, HUTCH, reaches

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(TOP / "tests/run"))
from act import Act  # noqa: E402

IMAGE = os.environ.get("BROWSER_IMAGE", "clients")
PLUGIN = TOP / "plugins/browser"
STORE = pathlib.Path(os.environ["XDG_DATA_HOME"]) / "hutch/plugins/browser"
PAGE = """[Current URL: http://localhost:8000/a]
============== BEGIN webpage content ==============
#  Hello & welcome \n
Some **text** with a [ link to B ](/b) . \n
Press 

============== END webpage content ==============
"""


def install(address):
    """Makes the virtual environment with the image's Python, where sandboxes look for it."""
    mirror = [] if address.is_global else ["--allow", str(address)]
    STORE.mkdir(parents=True, exist_ok=True)
    subprocess.run([HUTCH, "run", "--image", IMAGE, "--allow", "@pypi", *mirror, "-e", f"PIP_CERT={AUTHORITIES}",
                    "-v", f"{AUTHORITIES}:{AUTHORITIES}:ro", "-v", f"{PLUGIN}:/plugin", "-v", f"{STORE}:/store:rw",
                    "-w", "/store", "--", "sh", "/plugin/install.sh"], check=True)


class Box(Act):
    def __init__(self):
        super().__init__(HUTCH, ["--image", IMAGE, "--plugin", f"{PLUGIN}/",
                                 "-v", f"{TOP}/tests/clients/pages.py:/pages.py:ro"])

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
    assert len(o.extras["open_pages_urls"]) <= 41 and "new tabs were closed, since 40 are open." in o.content, o
    o = box.do(goto("/large"))
    assert "StaticText 'beginning" in o.content and "The page is too large for a complete tree" in o.content, o.content


def starts_a_browser_that_has_ended_anew(box):
    box.do(goto("/b"))
    assert box.run("pkill -KILL chromium").success
    o = box.do(goto("/b"))
    assert "Page B" in o.content and "[The browser had ended and was started anew." in o.content, o.content


CASES = (shows_a_page, acts_on_elements, says_what_failed, saves_a_download, gives_up_a_page_that_never_loads,
         ends_a_script_without_end, bounds_tabs_and_nodes, starts_a_browser_that_has_ended_anew)


def main():
    address = reaches("pypi.org")
    if address is None and not (STORE / "venv").exists():
        print("ok - the plugin browser # SKIP this host has no way to pypi.org")
        return
    if not (STORE / "venv").exists():
        install(address)
    box = Box()
    box.run("python3 /pages.py")
    for case in CASES:
        try:
            case(box)
            print(f"ok - the plugin browser {case.__name__.replace('_', ' ')}", flush=True)
        except (AssertionError, KeyError, TypeError, AttributeError) as e:
            print(f"not ok - the plugin browser {case.__name__.replace('_', ' ')}\n# {str(e)[:2000]!r}", flush=True)


main()
