"""browser -- browsergym's environment: one Chromium, its tabs, and actions in them.

browsergym's own step() and observation wait for all that a page wants; here each wait is bounded.
Playwright's calls wait in a loop of asyncio on the thread that made it; interrupt(), which
another thread may call, cancels them.
"""
import asyncio
import importlib
import logging
import os
import time

import gymnasium
import playwright.sync_api
from browsergym.core import env as gym_env
from browsergym.core import registration
from browsergym.core.action.base import execute_python_code
from browsergym.core.task import OpenEndedTask

from . import needs, process

TABS_MAX = 40
MESSAGES_MAX = 100
LOADED_S = 3.0
READ_S = 5.0
REPLACE_S = 10.0
TIMEOUT_MS = 100000
# The page's events, such as the one that tells which tab is in front, come after an action.
SETTLE_MS = 500
EVAL_MODULES = ("visualwebarena", "webarena", "miniwob")


class Chat:
    """The messages of browsergym's chat.  The original shows them in a second Chromium."""

    def __init__(self, *_, **__):
        self.messages = []

    def add_message(self, role, msg):
        self.messages.append({"role": role, "timestamp": time.time(), "message": msg})
        del self.messages[:-MESSAGES_MAX]

    def wait_for_user_message(self):
        pass

    def close(self):
        pass


class Environment(gym_env.BrowserEnv):
    """browsergym's environment; `on_download` is called with each download that begins."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.on_download = lambda download: None
        self.crashed = []
        self.closed_tabs = 0

    def reset(self, *args, **kwargs):
        self.crashed, self.page_history = [], {}
        result = super().reset(*args, **kwargs)
        self.context.on("page", self.watch)
        for page in self.context.pages:
            self.watch(page)
        return result

    def forget(self):
        """Ends a browser that is gone or does not answer, so that reset() makes another."""
        process.kill(depth_min=2)
        for part in (self.context, self.browser):
            try:
                if part:
                    part.close()
            except playwright.sync_api.Error:
                pass
        self.task = self.context = self.browser = self.page = None

    def watch(self, page):
        page.on("download", lambda download: self.on_download(download))
        page.on("crash", lambda _: self.crashed.append(page))

    # browsergym's reset() calls these

    def _get_obs(self):
        return {"goal_object": self.goal_object}

    def _wait_dom_loaded(self):
        end = time.monotonic() + LOADED_S
        for page in sorted(self.context.pages, key=lambda page: page != self.page):
            for frame in page.frames:
                left = end - time.monotonic()
                if left <= 0:
                    return
                try:
                    frame.wait_for_load_state("domcontentloaded", timeout=left * 1000)
                except playwright.sync_api.Error:
                    pass

    def _active_page_check(self):
        self.close_tabs()
        pages = self.context.pages
        self.page_history = {page: None for page in self.page_history if page in pages}
        if self.page not in pages:
            self.page = next(reversed([*pages, *self.page_history]), None) or self.context.new_page()

    def close_tabs(self):
        """Closes tabs that have crashed, and the newest ones where there are too many."""
        pages = self.context.pages
        crashed = [page for page in pages if page in self.crashed]
        if crashed and len(crashed) == len(pages):
            self.page = self.context.new_page()  # Chromium may end with its last tab
        for page in crashed + pages[:TABS_MAX - 1:-1]:
            self.closed_tabs += page not in crashed
            page.close()


class Browser:
    def __init__(self, workdir, private, launcher, downloads):
        gym_env.Chat = Chat
        registration.BrowserEnv = Environment
        logging.getLogger("browsergym").setLevel(logging.ERROR)
        self.workdir, self.private, self.launcher = workdir, private, launcher
        self.eval_name = os.environ.get("HUTCH_BROWSERGYM_EVAL_ENV")
        self.rewards = []
        self.is_sandboxed = needs.can_nest()
        self.environment = None
        self.downloads = downloads
        self.settle_s = float(os.environ.get("HUTCH_BROWSER_SETTLE_MS", SETTLE_MS)) / 1000
        self.loop = None

    # Start and end

    def start(self):
        """Starts Chromium in its own sandbox, or without where it cannot have one."""
        try:
            self.launch()
        except playwright.sync_api.Error:
            if not self.is_sandboxed:
                raise
            self.is_sandboxed = False
            self.environment.forget()
            self.launch()

    def launch(self):
        self.environment = self.make()
        self.environment.on_download = self.downloads.began
        self.environment.reset()
        self.loop = self.environment.context._loop
        self.rewards = []

    def make(self):
        common = {"tags_to_mark": "all", "timeout": TIMEOUT_MS, "slow_mo": 0, "pw_chromium_kwargs": {
            "executable_path": self.launcher, "chromium_sandbox": self.is_sandboxed, "timeout": TIMEOUT_MS,
            "downloads_path": self.downloads.folder}}
        if not self.eval_name:
            return Environment(OpenEndedTask, {"start_url": "about:blank", "goal": "PLACEHOLDER_GOAL"}, headless=True,
                               pw_context_kwargs={"accept_downloads": True}, **common)
        name = self.eval_name.removeprefix("browsergym/")
        module = next((known for known in EVAL_MODULES if name.startswith(known)), None)
        if not module:
            raise ValueError(f"Unsupported browsergym eval env: {name}")
        importlib.import_module(f"browsergym.{module}")
        return gymnasium.make(f"browsergym/{name}", **common).unwrapped

    def restart(self):
        self.environment.forget()
        self.start()

    def is_connected(self):
        # A call has Playwright handle what has come meanwhile.
        return self.within(REPLACE_S, self.environment.context.cookies) and self.environment.browser.is_connected()

    # Waits of Playwright

    def interrupt(self):
        """Cancels the calls of Playwright that wait now; they raise asyncio.CancelledError."""
        if self.loop:
            self.loop.call_soon_threadsafe(self.cancel_waits)

    def cancel_waits(self):
        for task in asyncio.all_tasks(self.loop):
            if hasattr(task, "__pw_stack__"):  # not the one that reads Playwright's answers
                task.cancel()

    def within(self, seconds, call):
        """Returns whether the call came back in time, and without an error."""
        timer = self.loop.call_later(seconds, self.cancel_waits)
        try:
            call()
            return True
        except (playwright.sync_api.Error, asyncio.CancelledError):
            return False
        finally:
            timer.cancel()

    # Actions

    def replace_page(self):
        """Opens a new tab in place of the active one if that does not answer, and says whether
        it did."""
        environment = self.environment
        self.within(READ_S, self.stop_loading)
        if self.within(READ_S, lambda: environment.page.evaluate("1")):
            return False
        def replace():
            old = environment.page
            environment.page = environment.context.new_page()  # first: Chromium may end with its last tab
            old.close()
        if not self.within(REPLACE_S, replace):
            self.restart()
        return True

    def stop_loading(self):
        """Stops the navigation of the active page."""
        session = self.environment.context.new_cdp_session(self.environment.page)
        session.send("Page.stopLoading")
        session.detach()

    def make_readable(self, seconds):
        """Stops a page that still loads after so many seconds: a script in a page whose next
        document does not come waits for that.  Returns whether there was one."""
        def try_it():
            self.environment.page.evaluate("1")
        if self.within(seconds, try_it):
            return False
        if not self.within(READ_S, self.stop_loading) or not self.within(READ_S, try_it):
            raise TimeoutError("the page does not answer")
        return True

    def act(self, action, timeout_s):
        """Does an action and returns the error of it, or ''."""
        environment = self.environment
        environment.context.set_default_timeout(min(TIMEOUT_MS, max(timeout_s * 500, (timeout_s - 10) * 1000)))
        environment.last_action_error = ""
        try:
            execute_python_code(environment.action_mapping(action), environment.page,
                                send_message_to_user=self.send_message,
                                report_infeasible_instructions=self.report_infeasible)
        except Exception as e:  # an action's error is its result
            environment.last_action_error = f"{type(e).__name__}: {e}"
        if environment.last_action_error.startswith("TimeoutError: Page.goto"):
            self.within(READ_S, self.stop_loading)
        time.sleep(self.settle_s)
        environment.context.cookies()
        environment._wait_dom_loaded()
        environment._active_page_check()
        if self.eval_name:
            self.rewards.append(environment._task_validate()[0])
        return environment.last_action_error

    def send_message(self, text):
        self.say("assistant", text)

    def report_infeasible(self, reason):
        self.say("infeasible", reason)

    def say(self, role, text):
        if not isinstance(text, str):
            raise ValueError(f"Forbidden value: {text} is not a string")
        self.environment.chat.add_message(role=role, msg=text)

    # Evaluation

    def goal(self):
        """Returns the text of the task's goal and the URLs of its pictures."""
        goal = self.environment.goal_object
        text = next((part["text"] for part in goal if part["type"] == "text"), "")
        urls = [part["image_url"] for part in goal if part["type"] == "image_url"]
        return text, [url["url"] if isinstance(url, dict) else url for url in urls]
