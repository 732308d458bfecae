"""session -- calls, one after the other.

The main thread drives the browser.  A second one reads the executor's lines and, when a call is
to end, first cancels the calls of Playwright that wait, then ends the whole program: an endless
script in a page can hold Playwright, and a page can keep Python busy.  The next action starts the
program anew.
"""
import asyncio
import base64
import json
import os
import queue
import shutil
import tempfile
import threading

from . import needs, page, picture, process, text
from .browser import TABS_MAX, Browser
from .downloads import FILE_MAX, Downloads
from .wire import LINE_MAX, packed, printable

TOOK_TOO_LONG = "Browser environment took too long to respond."
GONE = "Its tabs and what was typed into them are gone."
# When, after a cancel, waits are cancelled, and when the program ends.
INTERRUPTS_S, END_S = (0.0, 1.0, 2.0), 4.0
# How long a page that loads is waited for after an action.
READABLE_S = 30.0
PICTURE_S = 10.0
# How long after its error the event of a download may come.
DOWNLOAD_BEGINS_MS = 500
TEXT_MAX = 32 << 10
PICTURES_MAX = 16
GET_GOAL, GET_REWARDS = "GET_EVAL_GOAL", "GET_EVAL_REWARDS"


class Call:
    def __init__(self, line):
        self.number = line["call"]
        self.action = line["action"]
        self.args = line["args"]
        self.timeout = float(line.get("timeout") or 120)
        self.reason = None
        self.is_answered = False
        self.done = threading.Event()

    def command(self, workdir):
        """Returns the call of browsergym's that the action means."""
        if self.action == "browse_interactive":
            return self.args["browser_actions"]
        return f'goto("{self.url(workdir)}")'

    def url(self, workdir):
        """Returns the URL that is asked for.  A quote would end the text that it is put into."""
        url = self.args["url"]
        url = url if url.startswith("http") else os.path.abspath(workdir) + url
        return url.replace("\\", "%5C").replace('"', "%22").replace("\n", "%0A")


def short(said):
    return said if len(said) <= TEXT_MAX else said[:TEXT_MAX] + "…"


def private_folder():
    """Makes the folder that Chromium has for HOME, caches and temporary files."""
    folder = tempfile.mkdtemp(prefix="hutch-browser-")
    os.environ.update(HOME=folder, XDG_CACHE_HOME=f"{folder}/cache", XDG_CONFIG_HOME=f"{folder}/config",
                      XDG_DATA_HOME=f"{folder}/data", TMPDIR=folder)
    tempfile.tempdir = None
    return folder


class Session:
    def __init__(self, wire):
        self.wire = wire
        self.workdir = os.getcwd()
        self.folder = private_folder()
        plugin = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        os.environ.update(HUTCH_CHROMIUM=needs.chromium(), HUTCH_CHROMIUM_FILE_BLOCKS=str(FILE_MAX // 512))
        self.downloads = Downloads(self.workdir)
        self.browser = Browser(self.workdir, self.folder, os.path.join(plugin, "chromium.sh"), self.downloads)
        self.calls = queue.Queue()
        self.call = None
        self.is_doubtful = False
        self.notes = []
        self.lock = threading.Lock()

    def run(self):
        threading.Thread(target=self.listen, daemon=True).start()
        self.browser.start()
        if not self.browser.is_sandboxed:
            self.notes.append("Chromium runs with --no-sandbox, because its own sandbox cannot be made within this one")
        self.wire.send({"ready": True})
        while True:
            self.serve(self.calls.get())

    # The executor's lines; the second thread

    def listen(self):
        for line in self.wire.lines():
            if "call" in line:
                self.calls.put(line)
            elif "cancel" in line:
                threading.Thread(target=self.stop, args=[line], daemon=True).start()
        self.end(0)

    def stop(self, line):
        call = self.call
        if not call or call.number != line["cancel"]:
            return
        call.reason = line.get("reason", "cancelled")
        before = 0.0
        for at in (*INTERRUPTS_S, END_S):
            if call.done.wait(at - before):
                return
            before = at
            if at < END_S:
                self.browser.interrupt()
        self.answer_stopped(call, [f"The browser did not stop and was ended. {GONE}"])
        self.end(1)

    def end(self, code):
        process.kill(depth_min=1)
        shutil.rmtree(self.folder, ignore_errors=True)
        os._exit(code)

    # Calls; the main thread

    def serve(self, line):
        call = Call(line)
        self.call = call
        remarks = []
        try:
            self.heal(remarks)
            self.do(call, remarks)
        except asyncio.CancelledError:
            self.is_doubtful = True
            self.answer_stopped(call, remarks)
        except Exception as e:  # a failure of the browser is the call's, and no end of the driver
            self.is_doubtful = True
            self.answer_error(call, f"{e}" or type(e).__name__, remarks)
        finally:
            self.call = None

    def heal(self, remarks):
        """Has a browser that works, and says what is gone."""
        if not self.browser.is_connected():
            self.browser.restart()
            remarks.append(f"The browser had ended and was started anew. {GONE}")
        elif self.is_doubtful and self.browser.replace_page():
            remarks.append("The page did not answer any more; a new tab has taken its place.")
        self.is_doubtful = False

    def do(self, call, remarks):
        command = call.command(self.workdir)
        if self.browser.eval_name and command in (GET_GOAL, GET_REWARDS):
            self.answer_evaluation(call, command)
            return
        error = self.browser.act(command, call.timeout)
        is_awaited = bool(error) and call.action == "browse_interactive"
        if "Download is starting" in error and not self.downloads.begun:
            self.browser.environment.page.wait_for_timeout(DOWNLOAD_BEGINS_MS)
        remarks += self.downloads.finish(is_awaited)
        target = self.downloads.take_new() if is_awaited else None
        if self.browser.make_readable(min(READABLE_S, call.timeout / 4)):
            remarks.append("The page was still loading, and that was stopped.")
        self.browser.environment._active_page_check()  # more tabs may have come
        remarks += self.tabs_closed()
        seen = self.observe(call, error, remarks)
        if target:
            self.answer_download(call, seen, target)
        else:
            self.answer(call, seen)

    def tabs_closed(self):
        environment = self.browser.environment
        crashed, environment.crashed = environment.crashed, []
        count, environment.closed_tabs = environment.closed_tabs, 0
        return ([f"{count} new tabs were closed, since {TABS_MAX} are open."] if count else []) + \
            (["The page has crashed, and its tab was closed."] if crashed else [])

    def observe(self, call, error, remarks):
        environment = self.browser.environment
        pages = environment.context.pages[:TABS_MAX]
        pages += [] if environment.page in pages else [environment.page]
        seen = page.Seen(url=environment.page.url, error=error, remarks=remarks, pages=[tab.url for tab in pages],
                         active=pages.index(environment.page))
        page.read(environment.page, seen, is_text_wanted=call.action == "browse")
        self.take_picture(environment.page, seen)
        return seen

    def take_picture(self, tab, seen):
        def take():
            if len(seen.pages) > 1:
                tab.bring_to_front()  # Chromium draws no other tab, and would never answer
            seen.picture, seen.png = picture.take(tab)
        if not self.browser.within(PICTURE_S, take):
            self.notes.append("the page was not drawn in time, so there is no screenshot")
        if seen.png:
            try:
                seen.screenshot_path = picture.save(seen.png, self.workdir)
            except OSError as e:
                self.notes.append(f"the screenshot could not be saved: {e.strerror}")

    # Answers

    def members(self, call, seen):
        """Returns an answer's members but its pictures."""
        return {"content": text.of(seen, call.action), "url": short(seen.url), "trigger_by_action": call.action,
                "error": bool(seen.error), "goal_image_urls": [], "open_pages_urls": list(map(short, seen.pages)),
                "active_page_index": seen.active, "last_browser_action": "", "last_browser_action_error": "",
                "focused_element_bid": seen.focused or "", "filter_visible_only": False}

    def answer(self, call, seen, **other):
        answer = self.members(call, seen)
        answer.update(last_browser_action=short(call.command(self.workdir)),
                      last_browser_action_error=short(seen.error), **other)
        if seen.screenshot_path:
            answer["screenshot_path"] = seen.screenshot_path
        pictures = {"screenshot": seen.png,
                    "set_of_marks": seen.picture and picture.with_marks(seen.picture, seen.properties)}
        answer.update({name: base64.b64encode(png).decode() for name, png in pictures.items() if png})
        self.send(call, answer, self.data(call, seen, len(packed(answer))))

    def data(self, call, seen, used):
        """Returns the tree as JSON, where it was asked for and has room."""
        data = {}
        for name in ("axtree_object", "extra_element_properties") if call.args.get("return_axtree") else ():
            made = json.dumps(seen.axtree if name == "axtree_object" else seen.properties, separators=(",", ":"))
            used += len(packed(made))
            if used > LINE_MAX - (256 << 10):
                self.notes.append("the accessibility tree is too large to be returned")
                return {}
            data[name] = made
        return data

    def answer_download(self, call, seen, target):
        self.send(call, {**self.members(call, seen), "error": False, "content":
                         f"Execution of the previous action {call.args['browser_actions']} resulted in a file "
                         f"download. The downloaded file is saved at location: {target}"}, {"downloaded": target})

    def answer_error(self, call, error, remarks):
        url = call.url(self.workdir) if call.action == "browse" else ""
        seen = page.Seen(url=url, text=error, error=error, remarks=remarks)
        answer = self.members(call, seen)
        del answer["active_page_index"]
        self.send(call, {**answer, "last_browser_action_error": short(error)}, {})

    def answer_stopped(self, call, remarks):
        if call.reason == "cancelled":
            self.write(call, {"call": call.number, "error": " ".join(["the action was cancelled.", *remarks])})
        else:
            self.answer_error(call, TOOK_TOO_LONG, remarks)

    def answer_evaluation(self, call, command):
        goal, urls = self.browser.goal()
        pngs = [png for png in map(picture.png_of_url, urls[:PICTURES_MAX]) if png] if command == GET_GOAL else []
        seen = page.Seen()
        self.send(call, {**self.members(call, seen),
                         "content": goal if command == GET_GOAL else json.dumps(self.browser.rewards),
                         "goal_image_urls": [base64.b64encode(png).decode() for png in pngs]}, {})

    def send(self, call, answer, data):
        line = {"call": call.number, "answer": {name: printable(value) if isinstance(value, str) else value
                                                for name, value in answer.items()}}
        if data:
            line["data"] = data
        for name in ("set_of_marks", "screenshot", "goal_image_urls"):
            if len(packed(line)) <= LINE_MAX - (64 << 10):
                break
            line["answer"].pop(name, None)
            self.notes.append(f"{name} was left out, since the answer would be too long")
        notes, self.notes = self.notes, []
        if notes:
            line["note"] = printable("; ".join(notes))
        self.write(call, line)

    def write(self, call, line):
        """Answers a call, once; both threads may want to."""
        with self.lock:
            if not call.is_answered:
                call.is_answered = True
                call.done.set()
                self.wire.send(line)
