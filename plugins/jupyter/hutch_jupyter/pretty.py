"""pretty -- a value as text, broken into lines where it is long, as IPython has it."""
import inspect
import types

WIDTH = 79
ITEMS_MAX = 1000
BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}


def text_of(value):
    return laid_out(value, 0, 0, set())


def laid_out(value, indent, behind, open_ones):
    """Returns the text of a value that begins at column `indent` and has `behind` columns of its
    container's text after it.  `open_ones` are the containers around it."""
    kind = type(value)
    if kind in BRACKETS and type(value).__repr__ is kind.__repr__ and (value or kind is not set):
        if id(value) in open_ones:
            return f"{BRACKETS[kind][0]}...{BRACKETS[kind][1]}"
        return container(value, indent, behind, open_ones | {id(value)})
    if kind is type or (isinstance(value, type) and kind.__repr__ is type.__repr__):
        return class_name(value)
    if isinstance(value, types.FunctionType):
        return f"<function {value.__module__}.{value.__qualname__}{signature(value)}>"
    if isinstance(value, types.BuiltinFunctionType):
        return f"<function {builtin_name(value)}{signature(value)}>"
    if kind.__repr__ is object.__repr__:
        return f"<{kind.__module__}.{kind.__qualname__} at {id(value):#x}>"
    return repr(value)


def class_name(value):
    name = getattr(value, "__qualname__", value.__name__)
    module = getattr(value, "__module__", None)
    return name if module in (None, "builtins", "exceptions") else f"{module}.{name}"


def builtin_name(value):
    module = getattr(value, "__module__", None)
    return value.__qualname__ if module in (None, "builtins") else f"{module}.{value.__qualname__}"


def signature(value):
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"


def container(value, indent, behind, open_ones):
    left, right = BRACKETS[type(value)]
    flat = joined([item(one, 0, 0, value, open_ones) for one in first_of(value)], value)
    text = left + flat + right
    if "\n" not in text and indent + len(text) + behind <= WIDTH:
        return text
    parts = [item(one, indent + 1, 1, value, open_ones) for one in first_of(value)]
    return left + joined(parts, value, ",\n" + " " * (indent + 1)) + right


def first_of(value):
    """Returns the items up to ITEMS_MAX; a set's in order, where they have one."""
    if isinstance(value, set):
        try:
            value = sorted(value)
        except Exception:
            pass  # items that cannot be compared
    items = value.items() if isinstance(value, dict) else value
    return [one for _, one in zip(range(ITEMS_MAX), items)]


def item(one, indent, behind, of, open_ones):
    if not isinstance(of, dict):
        return laid_out(one, indent, behind, open_ones)
    key = laid_out(one[0], indent, behind, open_ones) + ": "
    return key + laid_out(one[1], indent + len(key.split("\n")[-1]), behind, open_ones)


def joined(parts, value, separator=", "):
    if len(value) > ITEMS_MAX:
        parts = [*parts, "..."]
    elif isinstance(value, tuple) and len(value) == 1:
        return parts[0] + ","
    return separator.join(parts)
