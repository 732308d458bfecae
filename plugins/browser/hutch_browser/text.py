"""text -- the content of observations, to the letter what OpenHands' agents are used to."""
from browsergym.utils.obs import flatten_axtree_to_str

CONTENT_MAX = 1 << 20

NOTE_OF_TREE = ("Accessibility tree of the COMPLETE webpage:\n"
                "Note: [bid] is the unique alpha-numeric identifier at the beginning of lines for each element in the "
                "AXTree. Always use bid to refer to elements in your actions.\n")


def block(title, text, bar="="):
    wide = bar * 14
    return f"{wide} BEGIN {title} {wide}\n{text}\n{wide} END {title} {wide}\n"


def error_block(doing, error):
    return (f"================ BEGIN error message ===============\nThe following error occurred when {doing}:\n"
            f"{error}\n================ END error message ===============\n")


def tree_of(seen):
    """Returns the accessibility tree as text, in its block, or why there is none."""
    try:
        tree = flatten_axtree_to_str(seen.axtree, extra_properties=seen.properties, with_clickable=True,
                                     skip_generic=False, filter_visible_only=False)
        return NOTE_OF_TREE + block("accessibility tree", tree)
    except Exception as e:  # a tree of another form is no reason for an action to fail
        return f"\n[Error encountered when processing the accessibility tree: {e}]"


def of_interactive(seen):
    text = f"[Current URL: {seen.url}]\n[Focused element bid: {seen.focused}]\n"
    if seen.screenshot_path:
        text += f"[Screenshot saved to: {seen.screenshot_path}]\n"
    text += "\n"
    text += error_block("executing the last action", seen.error) if seen.error else "[Action executed successfully.]\n"
    return text + tree_of(seen)


def of_browse(seen):
    text = f"[Current URL: {seen.url}]\n"
    if seen.error:
        text += error_block("trying to visit the URL", seen.error)
    return text + block("webpage content", seen.text)


def of(seen, action):
    text = of_browse(seen) if action == "browse" else of_interactive(seen)
    return bounded(text) + "".join(f"[{remark}]\n" for remark in seen.remarks)


def bounded(text):
    """Returns the beginning of a text that is too long, with a sentence."""
    data = text.encode("utf-8", "replace")
    if len(data) <= CONTENT_MAX:
        return text
    kept = data[:CONTENT_MAX].decode("utf-8", "ignore")
    return f"{kept}\n[The text of the page has {len(data)} bytes; these are the first {CONTENT_MAX}.]\n"
