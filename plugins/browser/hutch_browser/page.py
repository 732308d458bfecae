"""page -- what of a page goes into an observation, and what a page may cost at most.

browsergym marks each element, and Chromium writes the whole page as JSON twice.  A page that is
too large for this is not marked: its title and the beginning of its text stand in the tree.
"""
import time
from dataclasses import dataclass, field

import html2text
import playwright.sync_api
from browsergym.core import observation
from browsergym.core.constants import EXTRACT_OBS_MAX_TRIES
from browsergym.utils.obs import flatten_dom_to_str

NODES_MAX = 30000
FRAMES_MAX = 100
CHARS_MAX = 4 << 20
TEXT_MAX = 64 << 10

# Counts nodes and the characters of texts and attributes, and ends at the limit.
COUNT = """([nodes_max, chars_max]) => {
    let nodes = 0, chars = 0;
    const walk = root => {
        const walker = document.createTreeWalker(root);
        for (let node = walker.currentNode; node; node = walker.nextNode()) {
            nodes++;
            chars += node.nodeValue ? node.nodeValue.length : 0;
            for (const attribute of node.attributes || [])
                chars += attribute.value.length;
            if (node.shadowRoot)
                walk(node.shadowRoot);
            if (nodes > nodes_max || chars > chars_max)
                return;
        }
    };
    walk(document);
    return [nodes, chars];
}"""

BEGINNING = """chars_max => {
    const walker = document.createTreeWalker(document.body || document, NodeFilter.SHOW_TEXT);
    let text = "";
    for (let steps = 0, node; steps < 1e6 && text.length < chars_max && (node = walker.nextNode()); steps++)
        if (!["SCRIPT", "STYLE"].includes(node.parentNode.nodeName) && node.nodeValue.trim())
            text += node.nodeValue.trim() + "\\n";
    return [document.title.slice(0, 1000), text.slice(0, chars_max)];
}"""

# The page changes while it is read: these errors of Playwright's mean that a second try can do.
PASSING = ("Frame was detached", "Frame with the given frameId is not found", "Execution context was destroyed",
           "Frame has been detached", "Cannot mark a child frame without a bid",
           "Cannot read properties of undefined")


@dataclass
class Seen:
    """What an observation tells of the browser."""
    url: str = ""
    text: str = ""
    error: str = ""
    focused: str = ""
    axtree: dict = field(default_factory=dict)
    properties: dict = field(default_factory=dict)
    pages: list = field(default_factory=list)
    active: int = 0
    picture: object = None
    png: bytes = None
    screenshot_path: str = None
    remarks: list = field(default_factory=list)


def converter():
    made = html2text.HTML2Text()
    made.ignore_links = False
    made.ignore_images = True
    made.images_to_alt = True
    made.body_width = 0
    return made


def cost_of(page):
    """Returns how many nodes and characters a page has, at most a little more than the limits."""
    nodes = chars = 0
    for frame in page.frames:
        try:
            more = frame.evaluate(COUNT, [NODES_MAX, CHARS_MAX])
        except playwright.sync_api.Error:
            continue  # a frame that is gone, or in which no script may run
        nodes, chars = (nodes + more[0], chars + more[1]) if more else (NODES_MAX + 1, chars)
        if nodes > NODES_MAX or chars > CHARS_MAX:
            break
    return nodes, chars


def is_too_large(page):
    if len(page.frames) > FRAMES_MAX:
        return True
    nodes, chars = cost_of(page)
    return nodes > NODES_MAX or chars > CHARS_MAX


def read_all(page, is_last_try):
    observation._pre_extract(page, tags_to_mark="all", lenient=is_last_try)
    try:
        snapshot = observation.extract_dom_snapshot(page)
        axtree = observation.extract_merged_axtree(page)
        focused = observation.extract_focused_element_bid(page)
    finally:
        observation._post_extract(page)
    return snapshot, axtree, focused, observation.extract_dom_extra_properties(snapshot)


def read_marked(page, seen):
    for tries_left in reversed(range(EXTRACT_OBS_MAX_TRIES)):
        try:
            snapshot, seen.axtree, seen.focused, seen.properties = read_all(page, tries_left == 0)
            break
        except (playwright.sync_api.Error, observation.MarkingError) as e:
            if tries_left == 0 or not any(text in str(e) for text in PASSING):
                raise
            time.sleep(0.5)
    return snapshot


def read_beginning(page, seen):
    title, text = page.evaluate(BEGINNING, TEXT_MAX)
    text_node = {"nodeId": "2", "ignored": False, "role": {"value": "StaticText"}, "name": {"value": text},
                 "childIds": []}
    root = {"nodeId": "1", "ignored": False, "role": {"value": "RootWebArea"}, "name": {"value": title},
            "childIds": ["2"]}
    seen.axtree = {"nodes": [root, text_node]}
    seen.text = text
    seen.remarks.append(f"The page is too large for a complete tree: it has more than {NODES_MAX} nodes, "
                        f"{FRAMES_MAX} frames or {CHARS_MAX} characters. The beginning of its text is shown, and its "
                        "elements have no bids.")


def read(page, seen, is_text_wanted):
    """Fills in what the page has."""
    if is_too_large(page):
        read_beginning(page, seen)
        return
    snapshot = read_marked(page, seen)
    if is_text_wanted:
        seen.text = converter().handle(flatten_dom_to_str(snapshot))
