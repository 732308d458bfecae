"""Commands whose output and exit code are known."""
import shlex

import pace


class Program:
    def __init__(self, argv, out=b"", err=b"", code=0, signal=None):
        self.argv, self.out, self.err, self.code, self.signal = argv, out, err, code, signal

    def streams(self):
        return {"stdout": self.out, "stderr": self.err}


def numbers(first, last):
    return "".join(f"{n}\n" for n in range(first, last + 1)).encode()


def sh(text, **result):
    return Program(["sh", "-c", text], **result)


def small(dice, tag):
    code = dice.choice([0, 0, 1, 7, 255])
    return sh(f"echo out {tag}; echo err {tag} >&2; exit {code}", out=f"out {tag}\n".encode(),
              err=f"err {tag}\n".encode(), code=code)


def many_lines(dice, tag):
    first, count = dice.randrange(1, 10**6), dice.choice([10, 1000, 20000, 20000, 300000])
    half, code = first + count // 2, dice.choice([0, 3])
    return sh(f"seq {first} {half}; seq {half + 1} {first + count} >&2; exit {code}", out=numbers(first, half),
              err=numbers(half + 1, first + count), code=code)


def trickle(dice, tag):
    count, nap = dice.randrange(2, 25), pace.pause_in_sandbox(f"0.0{dice.randrange(1, 5)}")
    return sh(f"i=0; while [ $i -lt {count} ]; do echo {tag} $i; {nap}; i=$((i + 1)); done",
              out="".join(f"{tag} {i}\n" for i in range(count)).encode())


def binary(dice, tag):
    count = dice.choice([1, 100, 70000, 400000])
    return sh(f"printf '\\377\\200a\\0b'; head -c {count} /dev/zero; printf {tag}",
              out=b"\xff\x80a\0b" + bytes(count) + tag.encode())


def letters(dice, tag):
    """Characters of several bytes, the last of which is incomplete."""
    word, count = "ä€𝄞\n".encode(), dice.choice([1, 2, 5, 4099, 150001])
    return sh(f"yes {shlex.quote(word.decode().strip())} | head -c {count}",
              out=(word * (count // len(word) + 1))[:count])


def killed(dice, tag):
    number = dice.choice([9, 15, 1])
    return sh(f"echo {tag}; kill -{number} $$; sleep 1000", out=f"{tag}\n".encode(), code=128 + number, signal=number)


def leaves_child(dice, tag):
    """The child has its pipes, and prints nothing."""
    return sh(f"{pace.pause_in_sandbox(f'0.{dice.randrange(10)}')} & echo {tag}", out=f"{tag}\n".encode())


def any_program(dice, tag):
    kind = dice.choice([small, small, small, many_lines, trickle, binary, letters, killed, leaves_child])
    return kind(dice, tag)


def covers(parts, text, start=0, is_whole=True):
    """Checks that these parts, in which numbers are gaps, are the text from
    `start` on.  Returns None, or the error."""
    at = start
    for part in parts:
        if isinstance(part, int):
            at += part
            continue
        if text[at:at + len(part)] != part:
            return f"at byte {at} of {len(text)} came {part[:60]!r}, not {text[at:at + 60]!r}"
        at += len(part)
    if at > len(text) or (is_whole and at != len(text)):
        return f"{at} bytes came or were told as dropped, of {len(text)}"
