"""cell -- what one cell gives, gathered in the order in which it comes, within bounds.

An answer is one line of at most 8 MiB.  In JSON a character is 6 bytes at most, so 2 * SIDE
characters are at most 3 MiB; data have half of one, and pictures what the code leaves.  A caller
that asks for events gets them in place of the text and the data: what was printed, shown and
raised, each for itself.
"""
import binascii
import json
import re

from . import wire

SIDE = 1 << 18
CODE_MAX = 2 << 20
DATA_MAX = 1 << 19
PICTURES_MAX = wire.LINE_MAX - 6 * 2 * SIDE - DATA_MAX - (1 << 18)
EVENTS_MAX = 2 << 20
EVENT_PIECE = 1 << 16
NUL = "\\u0000"
ITEMS_MAX = 100
STREAMED_MAX = 16 << 20

NO_OUTPUT = "[Code executed successfully with no output]"
COLOURS = re.compile(r"\x1B\[\d+(;\d+){0,2}m")
PNG = b"\x89PNG\r\n\x1a\n"
SHORT_NAMES = {"image/svg+xml": "svg", "text/html": "html", "text/latex": "latex", "application/json": "json",
               "text/markdown": "markdown", "application/javascript": "javascript", "image/jpeg": "jpeg"}


class Text:
    """A text of which the beginning and the end are kept."""

    def __init__(self):
        self.head, self.tail = [], []
        self.head_size = self.tail_size = self.left_out = 0

    def add(self, text):
        room = SIDE - self.head_size
        if room > 0:
            self.head.append(text[:room])
            self.head_size += len(self.head[-1])
            text = text[room:]
        if not text:
            return
        self.tail.append(text)
        self.tail_size += len(text)
        if self.tail_size > 2 * SIDE:
            kept = "".join(self.tail)[-SIDE:]
            self.left_out += self.tail_size - len(kept)
            self.tail, self.tail_size = [kept], len(kept)

    def value(self):
        tail = "".join(self.tail)
        left_out = self.left_out
        if len(tail) > SIDE:
            left_out += len(tail) - SIDE
            tail = tail[-SIDE:]
        gap = f"\n[... {left_out} characters of the output are left out here ...]\n" if left_out else ""
        return COLOURS.sub("", "".join(self.head)) + gap + COLOURS.sub("", tail)


def png_of(text):
    """Returns the picture in base64, or None if it is no PNG."""
    try:
        picture = binascii.a2b_base64(text)
        if picture.startswith(PNG):
            # The executor's reader is strict, and Python's is not.
            return binascii.b2a_base64(picture, newline=False).decode()
    except (TypeError, ValueError):
        pass
    return None


class Cell:
    """One call.  `stream` takes text as it comes."""

    def __init__(self, code, stream, keeps_events=False):
        self.stream = stream
        self.events = [] if keeps_events else None
        self.events_room = EVENTS_MAX
        self.streamed = 0
        self.text = Text()
        self.pictures, self.data, self.notes, self.left_out = [], {}, [], {}
        self.room = PICTURES_MAX - len(wire.packed(code))
        self.data_room = DATA_MAX

    def add_text(self, text):
        self.add_printed("stdout", text)
        self.put(text)

    def add_errors(self, text):
        self.add_printed("stderr", text)
        self.put(text)

    def add_error(self, error):
        name, value, traceback = (str(error.get(key) or "") for key in ("name", "value", "traceback"))
        self.add_event({"type": "error", "name": name, "value": value, "traceback": traceback})
        self.put(traceback)

    def put(self, text):
        """Adds to the text of the answer, and to the stream."""
        if not text:
            return
        text = wire.printable(text)
        self.text.add(text)
        if self.streamed >= STREAMED_MAX:
            return
        piece = COLOURS.sub("", text[:STREAMED_MAX - self.streamed])
        self.streamed += len(text)
        if self.streamed >= STREAMED_MAX:
            piece += "\n[... further output is not streamed ...]\n"
        self.stream(piece)

    def add_gap(self, size):
        """Tells about text that was left out before it came here."""
        self.text.left_out += size

    def add_result(self, bundle):
        """Takes the value of a cell's last expression."""
        self.add_bundle(bundle, is_result=True)

    def add_bundle(self, bundle, is_result=False):
        """Takes a display in several forms, of which text/plain is the text."""
        event, more = {"type": "result", "is_main_result": is_result}, {}
        for kind, value in bundle.items():
            if kind == "text/plain":
                text = value if isinstance(value, str) else str(value)
                event["text"] = text
                self.put(text)
            elif kind == "image/png":
                count = len(self.pictures)
                self.add_picture(value)
                if len(self.pictures) > count:
                    event["png"] = count
            elif value is None:
                continue
            elif self.events is None:
                self.add_data(kind, value)
            elif kind in SHORT_NAMES:
                event[SHORT_NAMES[kind]] = value
            else:
                more[kind] = value
        self.add_event({**event, "extra": more} if more else event)

    def add_printed(self, stream, text):
        for at in range(0, len(text), EVENT_PIECE):
            self.add_event({"type": stream, "text": text[at:at + EVENT_PIECE]})

    def add_event(self, event):
        if self.events is None or self.events_room < 0:
            return
        event = {name: wire.printable(value) if isinstance(value, str) else value for name, value in event.items()}
        try:
            text = wire.packed(event).decode()
        except RecursionError:
            text = NUL
        if NUL in text:
            # A reader of JSON that is strict would refuse all events.
            self.leave_out((event["type"], len(text)))
            return
        # The event is a part of a string, whose quotes have backslashes.
        self.events_room -= len(wire.packed(text))
        if self.events_room < 0:
            text = wire.packed({"type": "stderr", "text": "[... further output is left out ...]\n"}).decode()
        self.events.append(text)

    def end_events(self):
        """Puts the events, an array, in place of the data."""
        if self.left_out:
            self.events_room += SIDE
            self.add_printed("stderr", self.content()[len(self.text.value().rstrip()):] + "\n")
        self.data = {"events": f"[{','.join(self.events)}]"}

    def add_picture(self, value):
        picture = png_of(value)
        if picture is None:
            self.leave_out(("image/png that is no PNG in base64", len(str(value))))
        elif len(picture) > self.room or len(self.pictures) == ITEMS_MAX:
            self.leave_out(("image/png", len(picture)))
        else:
            self.pictures.append(picture)
            self.room -= len(picture)

    def add_data(self, kind, value):
        try:
            text = wire.printable(value if isinstance(value, str) else json.dumps(value))
        except RecursionError:
            self.leave_out((kind[:100], 0))
            return
        size = len(wire.packed(text))
        if size > self.data_room or len(self.data) == ITEMS_MAX:
            self.leave_out((kind[:100], size))
            return
        self.data[self.free_name(kind)] = text
        self.data_room -= size

    def free_name(self, kind):
        """Returns the name of a member of `data`: svg, then svg_2 and so on."""
        name = SHORT_NAMES.get(kind) or re.sub(r"[^a-zA-Z0-9_]", "_", kind)[:56] or "data"
        number, free = 1, name
        while free in self.data:
            number += 1
            free = f"{name}_{number}"
        return free

    def leave_out(self, what):
        """Takes (kind, size) of a display that is not in the answer, which says so."""
        kind, size = what
        if kind in self.left_out or len(self.left_out) < ITEMS_MAX:
            count, total = self.left_out.get(kind, (0, 0))
            self.left_out[kind] = count + 1, total + size

    def note(self, sentence):
        if sentence not in self.notes and len(self.notes) < 10:
            self.notes.append(sentence)

    def content(self):
        """Returns the text, and behind it a line about what else there was."""
        text = self.text.value().rstrip()
        if not self.left_out:
            return text
        parts = [f"{count} x {kind} ({total} bytes)" for kind, (count, total) in self.left_out.items()]
        return f"{text}{text and chr(10)}[Left out of this answer, which has room for 8 MiB: {', '.join(parts)}]"
