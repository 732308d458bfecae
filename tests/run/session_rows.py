#!/usr/bin/env -S python3 -SE
"""session_rows.py HUTCH NAME [OPTION...]: as session.py, with more sequences:
answers of commands and edits, known defects of the reference, and the cases of
its own tests.
"""
import sys

sys.dont_write_bytecode = True
from session import (BELOW, REST, act, busy, do, ended, main, quiet, restless,  # noqa: E402
                     several, timed_out, type_)

W = "/workspace"
FRONT = ("[Previous command outputs are truncated. "
         "Showing the last 10999 lines of the output below.]\n")
CLIP = "\n[... Observation truncated due to length ...]\n"


def has(*texts, code=0, **more):
    """Completed with that code, and the content has all of these."""
    want = ended("", code)
    want.update(content=lambda c: all(t in c for t in texts), **more)
    return want


def still(seconds, *texts, prefix=""):
    return {**timed_out(seconds, "", prefix), "content": lambda c: all(t in c for t in texts)}


# --- a shell that a command begins

SHELLS = [
    # Nested shells with a prompt of two lines, and with prompts that commands change.
    (do("PS1='a\nb> ' bash --norc"), ended("")),
    (do("echo $$ >pid; PS1='x> '; PROMPT_COMMAND='echo y'; echo in"), ended("in")),
    (do("echo on"), ended("on")),
    (do("set -x"), ended("")),
    (do("bash"), ended("++ bash")),
    (do("true"), ended("")),
    (do("exit 4"), ended("exit", 4)),
    (do("echo $?"), ended("++ echo 4\n4")),
    (do("kill -9 $$"), lambda o: o.exit_code == 137 and o.content.endswith("Killed") and
     not o.hutch["restarted"]),
    (do("echo $?"), ended("137")),
    # An env action also sets variables in a nested shell; they stay when it ends.
    (do("bash"), ended("")),
    (act("env", set={"NAME": "value"}), {"observation": "env"}),
    (do("echo $NAME"), ended("value")),
    (do("exit"), ended("exit")),
    (do("echo $NAME"), ended("value")),
    # A nested shell accepts a long text and a key.
    (do("bash"), ended("")),
    (do("echo " + "x" * 200000 + " | wc -c"), has("200001", command=lambda c: True,
                                                  message=lambda m: True)),
    (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
    (do("C-c"), ended("^C", 130, " CTRL+C was sent.")),
    # These commands use a line editor (read -e) of their own, which must not get text of hutch.
    (do("read -e x; echo $x", timeout=0.2), timed_out("0.2", "")),
    (type_("y"), lambda o: o.exit_code == 0 and o.content.endswith("y")),
    (do("echo 'read -e x; echo got $x' >ask; bash ask", timeout=0.2), timed_out("0.2", "")),
    (type_("z"), lambda o: o.exit_code == 0 and o.content.endswith("got z")),
    (do("bash <<<'read -e x </dev/tty; echo got $x'", timeout=0.2), timed_out("0.2", "")),
    (type_("z"), lambda o: o.exit_code == 0 and o.content.endswith("got z")),
    (do("bash -c 'exec bash -i'"), ended("")),
    (do("exit 5"), ended("exit", 5)),
    (do("cd /tmp; exec bash"), ended("")),
    (do("pwd; exit 6"), ended("/tmp\nexit", 6, working_dir=W)),
    # The new bash replaces the old one while the process that held the descriptors for the old
    # one still lives: it is stopped.
    (do("""echo "PS0='\\$(pkill -STOP -f -- \\"--norc -c read\\")'" >rc"""), ended("")),
    (do("bash --rcfile rc"), ended("")),
    (do("exec bash --norc"), ended("")),
    # This counts one or more stopped processes, since a second one may not have ended yet.
    (do("pgrep -fc -- '--norc -c read'; pkill -CONT -f -- '--norc -c read'"),
     lambda o: o.exit_code == 0 and int(o.content) >= 1),
    (do("exit"), ended("exit")),
    # If the session's own shell is replaced, a new one starts in the same directory.
    (do("cd /tmp; exec bash"), ended("")),
    (do("exit 2"), ended("exit", 2)),
    (do("pwd"), has("/tmp", suffix=lambda s: "The shell had ended" in s)),
    (do("sh", timeout=0.2), timed_out("0.2", "$")),
    (type_("exit 9"), ended("", 9)),
    # Sixteen nested shells are supported; the seventeenth is treated like any program that still
    # runs.
    *[(do("bash --norc"), ended(""))] * 16,
    (do("bash --norc", timeout=1), still("1.0", "$")),
    (do("echo no"), lambda o: "is NOT executed" in o.suffix),
    (type_("exit 7"), has("exit", code=7)),
    *[(do("exit"), has("exit", code=7))] * 16,
    (do("echo out"), ended("out")),
]


# --- what commands print

# IN_LOG is the suffix of an observation whose content is incomplete.
IN_LOG = ended("")["suffix"] + "\n[The whole output is in /run/hutch/log/main-{}.]"


def fifty_thousand(o):
    head, tail = o.content.split(CLIP)
    return (len(head) == len(tail) == 15000 and "\nLine 40000\n" in head and
            tail.endswith("\nLine 50000") and o.prefix == FRONT and o.exit_code == 0)


def fifty_thousand_whole(o):
    lines = o.content.split("\n")
    return (o.prefix == FRONT and len(lines) == 10999 and lines[-1] == "Line 50000" and
            lines == [f"Line {i}" for i in range(39002, 50001)])


LINES = 'for i in $(seq 1 50000); do echo "Line $i"; done'

OUTPUT = [
    (do("echo hi"), ended("hi")),
    (do("printf '   x\\n\\ty\\n'"), ended("x\n        y")),
    (do("cat", timeout=0.2), timed_out("0.2", "")),
    (type_("one line", timeout=0.2), timed_out("0.2", "one line", BELOW)),
    (type_("C-d"), ended("", 0, " CTRL+D was sent.")),
    (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
    (type_("C-c"), ended("^C", 130, " CTRL+C was sent.")),
    (do("sleep 1000 &"), lambda o: o.content == f"[1] {o.pid}" and o.pid > 1 and o.exit_code == 0),
    (do("printf 'a\\rb\\n'"), ended("b")),
    (do("printf '\\033[31mred\\033[0m\\n'"), ended("red")),
    (do("printf '%1200s\\n' x | tr ' ' y"), ended("y" * 1199 + "x")),
    (do(LINES, hidden=True), fifty_thousand_whole),
    (do(LINES), fifty_thousand),
    (do("stty size; echo $TERM"), ended("1000 1000\ntmux-256color")),
    (do("alias git"), ended("alias git='git --no-pager'")),
    (do("printf 'a  \\nb\\t\\n\\n\\n'"), ended("a\nb")),
    (do("printf '\\n\\n  a'"), ended("a")),
    # These rows use another session, since a stopped job would be left in the main one.
    (do("sleep 1000", timeout=0.2, session="z"), timed_out("0.2", "")),
    (type_("C-z", session="z"),
     ended("^Z\n[1]+  Stopped                 sleep 1000", 148, " CTRL+Z was sent.")),
]

# Texts that are refused as several commands, and their commands.  For each row the player also
# runs the first command alone.
SEVERAL = [
    ("ls\npwd", "ls", "pwd"),
    ("# comment\nls\npwd", "# comment", "ls", "pwd"),
    ("ls &\npwd", "ls &", "pwd"),
    ("if true; then\nls\nfi\nls", "if true; then\nls\nfi", "ls"),
    ("for i in 1; do\nls\ndone\nls", "for i in 1; do\nls\ndone", "ls"),
    ("while false; do ls; done\nls", "while false; do ls; done", "ls"),
    ("f() { ls; }\nls", "f() { ls; }", "ls"),
    ("((i++))\nls", "((i++))", "ls"),
    ("ls <(pwd)\npwd", "ls <(pwd)", "pwd"),
]
ONE = [
    ("# comment\necho x", "x"), ("true && echo b", "b"), ("echo a; echo b", "a\nb"),
    ("printf 'x\\ny\\n' |\ngrep x", "x"), ("true &&\npwd", W),
    ("cat <<E\nx\ny\nE", "x\ny"), ("cat <<E\nx\nE\n", "x"), ("echo a \\\nb", "a b"),
    ("echo 'a\nb'", "a\nb"), ("bash -c 'echo a\npwd'", "a\n" + W),
    # A text that the parser bashlex cannot read counts as one command; its exit code is that of
    # the last command.
    ("a=(1 2)\necho ${a[1]}", "2"), ("[[ -f x ]]\necho $?", "1"), ("echo $((1+2))\necho y", "3\ny"),
    ("time true >/dev/null\npwd", lambda c: c.endswith("\n" + W)),
    ("for ((i = 0; i < 2; i++)); do echo $i; done\necho y", "0\n1\ny"),
    ("case x in x) echo 1;; esac\necho y", "1\ny"),
]

# --- what the reference does wrong

LONG = "echo " + "x" * 5000
LONGER = "echo " + "x" * 16500
RESTARTED = ("\n[The command completed with exit code 0.]"
             "\n[The shell had ended; this is a new one, in /tmp.]")
NEW_SHELL = {"content": "here", "suffix": RESTARTED, "exit_code": 0, "working_dir": "/tmp",
             "hutch": lambda h: h["restarted"]}

DEFECTS = {
    "defect 1": [(do(LONG), ended("x" * 5000, command=LONG)), (do("echo on"), ended("on"))],
    "defect 2": [
        (do(LONGER), ended("x" * 16500)),
        (do(f"v={'x' * (128 << 10)}; echo ${{#v}}"), ended(str(128 << 10))),
        (do(f"v={'x' * (1 << 20)}; echo ${{#v}}"), ended(str(1 << 20))),
        (do(f"cat <<E | wc -c\n{'line of text' * 9}\n{'x' * (1 << 20)}\nE"),
         ended(str(12 * 9 + (1 << 20) + 2))),
        (do("echo on"), ended("on")),
    ],
    "defect 3": [row for end, content, code in (
        ("exit", "exit", 0), ("set -e; false", "", 1), ("exec true", "", 0), ("exec false", "", 1),
        ("exit 7", "exit", 7), ("kill -9 $$", "", 137),
    ) for row in (
        (do("cd /tmp"), lambda o: o.working_dir == "/tmp"),
        (do(end), ended(content, code)),
        (do("echo here"), NEW_SHELL),
        (do("echo here"), ended("here")),
    )],
    "defect 4": [
        (do('echo "a!b"'), ended("a!b")), (do("echo !! !1 a!"), ended("!! !1 a!")),
        (do('false "a!b"'), ended("", 1)),
    ],
    "defect 5": [
        (do("touch f"), ended("")),
        (do("find . -type f -exec echo {} \\;"),
         ended("./f", command="find . -type f -exec echo {} \\;")),
        (do("find . -type f -exec ls {} \\; -exec echo a\\;b \\;"), ended("./f\na;b")),
    ],
    "defect 6": [
        (do("cat <<'E'\n\tone\n\t\ttwo\tthree\nE"), ended("one\n                two     three")),
        (do("cat <<'E' | od -An -c\n\ta\tb\nE"), ended("\\t   a  \\t   b  \\n")),
        (do("for i in 1 2; do\n\techo\t$i\ndone"), ended("1\n2")),
        (do("cat >m <<'E'\nall:\n\t@echo made\nE"), ended("")),
        (do("make -f m"), ended("made")),
    ],
    "defect 7": [
        (do("clear"), ended("")), (do("echo a; clear; echo b"), ended("b")),
        (do("clear; echo b"), ended("b")), (do("printf '\\033c'; echo b"), ended("b")),
    ],
    "defect 8": [
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (do("C-c"), ended("^C", 130, " CTRL+C was sent.")),
    ],
    "defect 9": [row for _ in range(25) for row in (
        (do("false"), ended("", 1)), (do("echo x"), ended("x")), (do("(exit 3)"), ended("", 3)))],
    "defect 10": [
        (do("echo '###PS1JSON###'; echo '{\"exit_code\": 7}'; echo '###PS1END###'"),
         ended('###PS1JSON###\n{"exit_code": 7}\n###PS1END###')),
        (do("printf '\\n###PS1END###'; false"), ended("###PS1END###", 1)),
        (do("PROMPT_COMMAND='echo prompted'; PS1='> '; PS2='more> '"), ended("")),
        (do("echo a"), ended("a")),
        (do("PS1=\"(base) $PS1\"; export PS1 PROMPT_COMMAND=false"), ended("")),
        (do("cat <<E\nx\nE"), ended("x")),
        (do("PROMPT_COMMAND=(false 'exit 9')"), ended("")),
        (do("(exit 4)"), ended("", 4)),
    ],
}


# --- what the reference's own tests ask

# The FIFO is opened once, and all commands use that open file description: a second open could
# get the other end of a process that is about to close it.
LOOP = "exec 9<>/tmp/go; for i in 1 2 3 4 5; do read x <&9; echo $i; done; exec 9>&-"


def go():
    """The loop goes on, and rests before the next row."""
    return (do("echo >/tmp/go", session="other"), ended("")), REST


SERVER = "python3 -u -m http.server 8123"
SERVING = "Serving HTTP on"
ASKS = "read -p 'Do you want to continue? [Y/n] ' answer; [ \"$answer\" = Y ]"

CLIENTS = {
    "a server": [
        (do(SERVER, timeout=0.2), still("0.2", SERVING)),
        (type_("C-c"), {**has("Keyboard interrupt received, exiting.", working_dir=W),
                                    "suffix": ended("", 0, " CTRL+C was sent.")["suffix"]}),
        (do("ls"), ended("", working_dir=W)),
        (do(SERVER, timeout=0.2), still("0.2", SERVING)),
        (type_("C-c"), has("exiting.", suffix=ended("", 0, " CTRL+C was sent.")["suffix"])),
    ],
    "a server in the background": [
        (do("python3 -m http.server 8123 >log 2>&1 &"), has("[1] ")),
        (do("curl -s --retry-connrefused --retry 50 --retry-delay 0 -o page "
            "http://localhost:8123/ && grep -c 'Directory listing' page"), has("")),
        (do("pkill -f http.server"), has("")),
    ],
    "several lines": [
        (do("echo one \\\n  two \\\n  three"), ended("one two three")),
        (do("echo \"first\nsecond\""), ended("first\nsecond")),
        (do("cat <<E\n> not a prompt\nE"), ended("> not a prompt")),
        (do("for i in 1 2\ndo\n  echo \"n $i\"\ndone"), ended("n 1\nn 2")),
        (do("echo a\necho b\necho c\necho d\necho e\necho f"),
         several(*(f"echo {c}" for c in "abcdef"))),
        (do("echo a && echo b && echo c"), ended("a\nb\nc")),
        (do("count=0; tries=0; while [ $count -lt 3 ]; do count=$((count + 1)); "
            "tries=$((tries + 1)); done; echo \"Got $count heads in a row after $tries flips!\""),
         ended("Got 3 heads in a row after 3 flips!")),
        (do("for f in a b; do\n\techo \"file $f\" >$f.txt\n\tsed -i 's/file/FILE/' $f.txt\n"
            "\tcat $f.txt\ndone"), ended("FILE a\nFILE b")),
    ],
    "files and folders": [
        (do("ls -l " + W), ended("total 0")),
        (do("mkdir test && ls -l | grep -c 'agent.* test$'"), ended("1")),
        (do("touch test/f && rm -rf test && ls"), ended("")),
        (do("cd ~ && pwd"), ended("/home/agent", working_dir="/home/agent")),
        (do("mkdir -p /tmp/a && cd /tmp/a"), ended("", working_dir="/tmp/a")),
        (do("pwd"), ended("/tmp/a", working_dir="/tmp/a", username="agent")),
        (do("ls /nonexistent_folder"), has("No such file", code=2)),
        (do("nonexistent_command"), ended("bash: nonexistent_command: command not found", 127)),
        (do("python3 --version"), has("Python 3")),
        (do("mkdir d && touch d/the_file && find d -name the_file -exec ls {} \\;"),
         ended("d/the_file")),
    ],
    "git": [
        (do("git init -q . && git config user.name a && git config user.email a@b"), ended("")),
        (do("echo hello >test_file.txt && git add . && git diff --no-color --cached"),
         has("b/test_file.txt", "+hello")),
        (do("git commit -m one"), has("1 file changed")),
        (do("git remote -v"), ended("")),
        (do("git remote add origin https://example.org/x.git"), ended("")),
        (do("git remote -v"), lambda o: "git remote -v" not in o.content and
            o.content.startswith("origin\thttps://") or o.content.startswith("origin  https://")),
        # The diff is longer than a screen, and no pager waits for a key.
        (do("seq 5000 >long && git add . && git diff --cached", hidden=True), has("+5000")),
    ],
    "a question": [
        (do("read -p 'What is your name? ' name && echo \"Hello $name\""),
         quiet("1", "What is your name?")),
        (type_("John"), ended("Hello John")),
        (do("cat <<E\nline 1\nline 2\nE"), ended("line 1\nline 2")),
    ],
    "long output": [
        (do("for i in $(seq 1 5000); do echo \"Line $i\"; done"),
         has("Line 1\n", CLIP, "Line 5000", suffix=IN_LOG.format(1))),
        (do(LINES), fifty_thousand),
        (do("for i in $(seq 100); do mkdir folder_$i; (cd folder_$i; "
            "touch $(seq -f file_%g.txt 100)); done; ls -R", blocking=True, timeout=1000),
         has("folder_1", "file_1.txt", "folder_100", "file_100.txt", CLIP,
             suffix=IN_LOG.format(3))),
    ],
    "output and time-outs": [row for _ in range(3) for row in (
        (do("ps aux | awk '{printf \"%.1f %s\\n\", $4, $11}' | sort -rn | grep -v '^0.0' | "
            "awk '{print}'; true", blocking=True, timeout=1000), has("")),
        (do(ASKS, timeout=0.2), timed_out("0.2", "Do you want to continue? [Y/n]")),
        (type_("Y"), ended("")),
        # This is one program, not a loop: if C-c comes when a program of a loop ends, bash takes
        # it for that program and the loop goes on.
        (do("perl -e '$| = 1; print \"*\" x 1000, \"\\n\" for 1 .. 20; sleep 1000'", timeout=0.5),
         still("0.5", "*" * 1000)),
        (do("ls"), lambda o: o.exit_code == -1 and
         "The previous command is still running" in o.suffix),
        (type_("C-c"), lambda o: o.exit_code == 130),
        (do("ls"), ended("")),
    )],
    # The programs in these loops end all the time, so C-c may come just when one ends; the loop
    # must end all the same.
    "C-c in a flood": [row for flood in
                       ["yes", "cat /dev/zero | base64", "while :; do find /etc; done 2>/dev/null",
                        *["while true; do date; done"] * 12] for row in (
        restless(do(flood, timeout=0.2), lambda o: o.exit_code == -1),
        # The echo ^C may be in the part that was cut out, if much was printed after the key.
        (do("C-c"), lambda o: o.exit_code == 130 and ("^C" in o.content or CLIP in o.content)),
        (do("echo ok"), ended("ok")),
    )],
    # The trap sends SIGINT to the shell in the middle of its report, once.
    "a SIGINT in a report": [
        (do("set -T; builtin trap '[[ $BASH_COMMAND != *type*python* || -e /tmp/hit ]] || "
            "{ : >/tmp/hit; kill -INT $$; }' DEBUG"), lambda o: o.exit_code == 0),
        (do("builtin trap - DEBUG; ls /tmp/hit"), ended("/tmp/hit")),
    ],
    "shells in it": SHELLS,
    "newlines": [
        (do("cat <<'E'\r\none\r\n\ttwo\r\nE\r\n"), ended("one\n        two")),
        (do("cat >file <<E\r\none\r\ntwo\r\nE"), ended("", command="cat >file <<E\none\ntwo\nE")),
        (do("od -An -c file | tr -d ' '"), ended("one\\ntwo\\n")),
        (do("for i in 1 2\r\ndo echo $i\r\ndone"), ended("1\n2")),
        (do("echo a &&\r\necho b"), ended("a\nb")),
        (do("ls\r\npwd"), several("ls", "pwd")),
        (do("echo 'a\r\nb\rc' | od -An -c | tr -d ' '"), ended("a\\nb\\rc\\n")),
        (do("read a; read b; echo $a-$b", timeout=0.2), timed_out("0.2", "")),
        (type_("1\r\n2"), ended("1-2")),
    ],
    "history": [
        (do("history"), ended("1  history")),
        (do("printf 'a\\n'"), ended("a")),
        (do("for i in 1\ndo true\ndone"), ended("")),
        (act("env", set={"NAME": "value"}), {"observation": "env"}),
        (do("history"), ended("1  history\n    2  printf 'a\\n'\n    3  for i in 1\ndo true\n"
                              "done\n    4  history")),
        (do("set -x"), ended("")),
        (do("fc -ln -1"), has("set -x")),
        (do("set +x; set -o history; history -c"), has("")),
        (do("history"), ended("1  history")),
        (do("HISTCONTROL=ignoredups; history"), ended("1  history\n    2  HISTCONTROL="
                                                      "ignoredups; history")),
        (do("true # " + "x" * 70000), ended("", command=lambda c: True, message=lambda m: True)),
        (do("history | tail -n 1"), ended("3  history | tail -n 1")),
    ],
    "a trap on DEBUG": [
        (do("trap 'echo \"$BASH_COMMAND, $?\"' DEBUG"), ended("")),
        (do("echo hi"), ended("echo hi, 0\nhi")),
        (do("(exit 3)\\\n; echo $?"), ended("echo $?, 3\n3")),
        (do("f() { true; }; f; f"), ended("f, 0\nf, 0")),
        (do("set -T; f"), ended("set -T, 0\nf, 0\nf, 0\ntrue, 0")),
        (do("set +T; false"), ended("set +T, 0\nfalse, 0", 1)),
        (do("nonesuch ("), lambda o: o.exit_code == 2 and "hutch" not in o.content),
        (do("trap - DEBUG"), ended("trap - DEBUG, 2")),
        (do("echo bye"), ended("bye")),
        (do("n=0; trap 'n=$((n + 1))' DEBUG"), ended("")),
        (do("true; true"), ended("")),
        (do("trap -- '' DEBUG; echo $n"), ended("3")),
        (do("type -t trap; trap 'echo x' USR1; trap -p USR1"),
         ended("builtin\ntrap -- 'echo x' SIGUSR1")),
        (act("write", path="/home/agent/.bashrc", content="trap 'm=$((m + 1))' DEBUG\n"),
         {"observation": "write"}),
        (do("true; echo $m", session="other"), ended("2")),
        (do("true; echo $m", session="other"), ended("4")),
    ],
    "one by one": [
        (do("mkfifo /tmp/go; (echo >/tmp/go &)", session="other"), ended("")),
        (do(LOOP, timeout=0.2), timed_out("0.2", "1")),
        *go(), (do("", timeout=0.2), timed_out("0.2", "2", BELOW)),
        *go(), (do("", timeout=0.2), timed_out("0.2", "3", BELOW)),
        (do("ls"), busy("ls", "")),
        *go(), (do("ls"), busy("ls", "4")),
        *go(), (do(""), ended("5")),
    ],
    "Python asks": [
        (act("write", path="ask.py", content="name = input('Enter your name: ')\n"
             "age = input('Enter your age: ')\nprint(f'Hello {name}, you will be {int(age) + 1}')"),
         {"observation": "write"}),
        (do("python3 ask.py"), quiet("1", "Enter your name:")),
        (do("Alice"), busy("Alice", "")),
        (type_("Alice"), quiet("1", "Enter your age:", BELOW)),
        (type_("25"), ended("Hello Alice, you will be 26")),
    ],
    # The test of OpenHands (the reference) changes the owner with sudo; this one runs as root
    # with a second id mapped, so it needs no sudo.
    "two owners": [
        (do("chown -R agent:root ."), ended("", username="root")),
        (do("ls -alh . | grep ' \\.$'"), has("agent", "root", username="root")),
        (do("ls -alh . | grep ' \\.\\.$'"),
         lambda o: "root" in o.content and "agent" not in o.content),
        (do("become='setpriv --reuid agent --regid agent --clear-groups env HOME=/home/agent'"),
         ended("", username="root")),
        (do("$become git init -q && $become touch test_file.txt && stat -c '%U %G' test_file.txt"),
         ended("agent agent", username="root")),
        (do("touch /root/test.txt && chmod 600 /root/test.txt && $become cat /root/test.txt"),
         has("Permission denied", code=1, username="root")),
    ],
}


# --- the editor

def edit(command, path, content, diff="", **args):
    return (act("edit", command=command, path=path, **args),
            {"observation": "edit", "content": content, "diff": diff, "path": path,
             "prev_exist": False, "impl_source": "oh_aci", "old_content": args.get("old_str"),
             "new_content": args.get("new_str"), "message": f"I edited the file {path}."})


def fails(command, path, content, **args):
    return edit(command, path, "ERROR:\n" + content, **args)


def shows(path, content, **args):
    return (act("read", path=path, impl_source="oh_aci", **args),
            {"observation": "read", "content": content, "path": path, "impl_source": "oh_aci",
             "message": f"I read the file {path}."})


F = W + "/f.txt"
FOUND = f"Here's the result of running `cat -n` on {F}:\n"
RANGE = "ERROR:\nInvalid `view_range` parameter: "
EDITED = f"The file {F} has been edited. Here's the result of running `cat -n` on a snippet of "
CHECK = "Review the changes and make sure they are as expected"
AGAIN = " Edit the file again if necessary."
DIFF = f"--- {F}\n+++ {F}\n"
NO_PATH = "Invalid `path` parameter: "

EDITOR = [
    edit("create", F, f"File created successfully at: {F}",
         f"{DIFF}@@ -0,0 +1,3 @@\n+one\n+two\n+three",
         file_text="one\ntwo\nthree\n"),
    fails("create", F, f"{NO_PATH}{F}. File already exists at: {F}. Cannot overwrite files using "
          "command `create`.", file_text="x"),
    fails("create", W, f"{NO_PATH}{W}. File already exists at: {W}. Cannot overwrite files using "
          "command `create`.", file_text="x"),
    fails("create", W + "/no/f", f"Ran into [Errno 2] No such file or directory: '{W}/no/f' while "
          f"trying to write to {W}/no/f", file_text="x"),
    fails("create", W + "/g", "Parameter `file_text` is required for command: create."),
    edit("view", F, FOUND + "     1\tone\n     2\ttwo\n     3\tthree\n     4\t\n"),
    shows(F, FOUND + "     2\ttwo\n     3\tthree\n", view_range=[2, -1]),
    shows(F, "NOTE: We only show up to 3 since there're only 3 lines in this file.\n" + FOUND +
          "     2\ttwo\n     3\tthree\n", view_range=[2, 9]),
    shows(F, RANGE + "[0, 2]. Its first element `0` should be within the range of lines of the "
          "file: [1, 3].", view_range=[0, 2]),
    shows(F, RANGE + "[3, 2]. Its second element `2` should be greater than or equal to the first "
          "element `3`.", view_range=[3, 2]),
    shows(F, RANGE + "[1]. It should be a list of two integers.", view_range=[1]),
    (do("mkdir -p d/e && touch d/e/f .hidden"), ended("")),
    edit("view", W, f"Here's the files and directories up to 2 levels deep in {W}, excluding "
                    f"hidden "
         f"items:\n{W}/\n{W}/d/\n{W}/d/e/\n{F}\n\n1 hidden files/directories in this directory are "
         f"excluded. You can use 'ls -la {W}' to see them."),
    shows(W, RANGE + "[1, 2]. The `view_range` parameter is not allowed when `path` points to a "
          "directory.", view_range=[1, 2]),
    fails("view", W + "/g", f"{NO_PATH}{W}/g. The path {W}/g does not exist. Please provide a "
                            f"valid path."),
    fails("view", "f.txt", f"{NO_PATH}f.txt. The path should be an absolute path, starting with "
          f"`/`. Maybe you meant {F}?"),
    fails("view", "g.txt", f"{NO_PATH}g.txt. The path should be an absolute path, starting with "
                           f"`/`."),
    fails("str_replace", W, f"{NO_PATH}{W}. The path {W} is a directory and only the `view` "
          f"command can be used on directories.", old_str="a", new_str="b"),
    edit("str_replace", F, EDITED + f"{F}:\n     1\tone\n     2\t2\n     3\tthree\n     "
                                    f"4\t\n{CHECK}.{AGAIN}",
         DIFF + "@@ -2 +2 @@\n-two\n+2", old_str="two", new_str="2"),
    # The text to replace occurs in the file only without the blanks around it.
    edit("str_replace", F, EDITED + f"{F}:\n     1\tone\n     2\ttwo\n     3\tthree\n     "
                                    f"4\t\n{CHECK}.{AGAIN}",
         DIFF + "@@ -2 +2 @@\n-2\n+two", old_str="  2 ", new_str=" two "),
    edit("insert", F, EDITED + f"the edited file:\n     1\tone\n     2\tmore\n     3\ttwo\n     "
                               f"4\tthree\n"
         f"     5\t\n{CHECK} (correct indentation, no duplicate lines, etc).{AGAIN}",
         DIFF + "@@ -1,0 +2 @@\n+more", insert_line=1, new_str="more"),
    edit("undo_edit", F, f"Last edit to {F} undone successfully. {FOUND}     1\tone\n     2\ttwo\n"
         "     3\tthree\n     4\t\n", DIFF + "@@ -2 +1,0 @@\n-more"),
    fails("str_replace", F, f"No replacement was performed, old_str `X` did not appear verbatim in "
                            f"{F}.",
          old_str="X", new_str="Y"),
    fails("str_replace", F, "No replacement was performed. Multiple occurrences of old_str `t` in "
          "lines [2, 3]. Please ensure it is unique.", old_str="t", new_str="Y"),
    fails("str_replace", F, "No replacement was performed. Multiple occurrences of old_str `` in "
          "lines [1, 2, 3, 4]. Please ensure it is unique.", old_str="", new_str="Y"),
    fails("str_replace", F, "Invalid `new_str` parameter: two. No replacement was performed. "
          "`new_str` and `old_str` must be different.", old_str="two", new_str="two"),
    fails("str_replace", F, "Parameter `old_str` is required for command: str_replace.",
          new_str="a"),
    fails("insert", F, "Parameter `insert_line` is required for command: insert.", new_str="a"),
    fails("insert", F, "Parameter `new_str` is required for command: insert.", insert_line=1),
    fails("insert", F, "Invalid `insert_line` parameter: 99. It should be within the range of "
          "allowed values: [0, 3]", insert_line=99, new_str="a"),
    fails("insert", F, "Invalid insert_line value: 'x'. Expected an integer.", insert_line="x",
          new_str="a"),
    fails("undo_edit", W + "/d/e/f", f"No edit history found for {W}/d/e/f."),
    fails("mend", F, "Unrecognized command mend. The allowed commands for the oh_editor tool are: "
          "view, create, str_replace, insert, undo_edit"),
    (do("truncate -s 11M big; printf 'a\\0b' >bin; touch x.pdf x.docx"), ended("")),
    fails("view", W + "/big", f"File validation failed for {W}/big: File is too large (11.0MB). "
          f"Maximum allowed size is 10MB."),
    fails("view", W + "/bin", f"File validation failed for {W}/bin: File appears to be binary and "
          f"this file type cannot be read or edited by this tool."),
    *(fails("str_replace", f"{W}/x.{end}",
            f"{NO_PATH}{W}/x.{end}. The path {W}/x.{end} points to a binary "
            f"file (.{end}) and only the `view` command can be used on supported binary files.",
            old_str="a", new_str="b") for end in ("pdf", "docx")),
    (act("edit", command="view", path=W + "/x.docx"),
     {"observation": "edit", "content": lambda c: c.startswith("ERROR:\n") and
      "cannot be shown by this sandbox" in c}),
    (do("seq -f 'Line %g' 16000 >long"), ended("")),
    (act("edit", command="view", path=W + "/long"),
     {"content": lambda c: "     1\tLine 1\n" in c and
      "Due to the max output limit, only part of this "
      "file has been shown to you." in c, "hutch": lambda h: h["truncated_chars"] > 100000}),
]

EDITOR_DEFECTS = [
    (do("printf 'a\\r\\nb\\r\\n' >dos; printf 'a\\nb\\n' >m; chmod 755 m; touch empty"), ended("")),
    (act("edit", command="str_replace", path=W + "/dos", old_str="b", new_str="c"),
     {"diff": f"--- {W}/dos\n+++ {W}/dos\n@@ -2 +2 @@\n-b\n+c"}),
    (act("edit", command="insert", path=W + "/dos", insert_line=1, new_str="n"),
     {"observation": "edit"}),
    (do("od -An -c dos"), ended("a  \\r  \\n   n  \\r  \\n   c  \\r  \\n")),
    (act("edit", command="insert", path=W + "/m", insert_line=1, new_str="n"),
     {"observation": "edit"}),
    (do("stat -c %a m; cat m"), ended("755\na\nn\nb")),
    edit("create", F, f"File created successfully at: {F}", DIFF + "@@ -1 +1 @@\n-\n+x",
         file_text="x"),
    fails("undo_edit", F, f"No edit history found for {F}."),
    (do("cat f.txt"), ended("x")),
    (act("read", path=W + "/empty", impl_source="oh_aci", view_range=[1, 1]),
     {"content": lambda c: c.startswith("ERROR:\n") and "[1, 0]" not in c}),
]

# --- reading and writing

def error(text):
    return {"observation": "error", "content": text, "message": text, "error_id": ""}


def reads(path, content, **args):
    return (act("read", path=path, **args),
            {"observation": "read", "content": content, "impl_source": "default",
             "path": path if path[0] == "/" else f"{W}/d/{path}"})


def writes(path, content, full, **args):
    return (act("write", path=path, content=content, **args),
            {"observation": "write", "content": "", "path": full,
             "message": f"I wrote to the file {full}."})


FILES = [
    (do("mkdir d && cd d"), ended("", working_dir=W + "/d")),
    writes("a", "one\ntwo\nthree", W + "/d/a"),
    (do("stat -c '%a %U' a; cat -A a"), ended("664 agent\none$\ntwo$\nthree$")),
    reads("a", "one\ntwo\nthree\n"), reads(W + "/d/a", "one\ntwo\nthree\n"),
    reads("a", "two\n", start=1, end=2), reads("a", "two\nthree\n", start=1),
    reads("a", "one\n", start=0, end=1), reads("a", "", start=9),
    reads("./../d//a", "one\n", end=1),
    (do("chmod 640 a"), ended("")),
    writes("a", "2", W + "/d/a", start=1, end=2), reads("a", "one\n2\nthree\n"),
    writes("a", "end", W + "/d/a", start=2), reads("a", "one\n2\nend\n"),
    writes("a", "begin", W + "/d/a", end=1), reads("a", "begin\n2\nend\n"),
    writes("a", "all", W + "/d/a"), reads("a", "all\n"),
    (do("stat -c %a a"), ended("640")),
    writes("new/er/f", "", W + "/d/new/er/f"), reads("new/er/f", "\n"),
    # Another session has another working directory.
    (act("read", path="a", session="b"),
     error(f"File not found: {W}/a. Your current working directory is {W}.")),
    (act("read", path="none"),
     error(f"File not found: {W}/d/none. Your current working directory is {W}/d.")),
    (act("read", path="new"), error(f"Path is a directory: {W}/d/new. You can only read files")),
    (act("write", path="new", content="x"),
     error(f"Path is a directory: {W}/d/new. You can only write to files")),
    (do("printf 'caf\\351 x\\n' >latin; printf 'a\\0b' >nul; printf 'a\\377' >ff; "
        "printf '\\1\\2\\3\\4' >low; touch empty; printf 'caf\\303\\251\\n' >utf; "
        "printf '\\211PNG' >p.png; cp p.png q; ln -s a l"), ended("")),
    (act("read", path="latin"), error(f"File could not be decoded as utf-8: {W}/d/latin.")),
    (act("write", path="latin", content="x", start=1),
     error(f"File could not be decoded as utf-8: {W}/d/latin.")),
    *((act("read", path=f), error("ERROR_BINARY_FILE")) for f in ("nul", "ff", "low")),
    (act("read", path=W + "/d/nul", impl_source="oh_aci"), error("ERROR_BINARY_FILE")),
    reads("empty", ""), reads("utf", "caf\u00e9\n"), reads("l", "all\n"),
    # The media type follows from the ending of the name, also for an absolute path.
    *(row for end, kind in (("png", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"),
                            ("bmp", "image/bmp"), ("gif", "image/gif"), ("pdf", "application/pdf"),
                            ("mp4", "video/mp4"), ("webm", "video/webm"), ("ogg", None))
      for row in ((do(f"cp q x.{end}"), ended("")),
                  (act("read", path=f"{W}/d/x.{end}"),
                   {"content": lambda c, kind=kind: c.endswith(";base64,iVBORw==") and
                    (not kind or c.startswith(f"data:{kind};"))}))),
]

SEQUENCES = {
    "output": OUTPUT,
    "several": [(do(c), several(*pieces)) for c, *pieces in SEVERAL] +
               [(do(c), {"observation": "run", "exit_code": 0, "content": content})
                for c, content in ONE],
    "editor": EDITOR,
    "editor's defects": EDITOR_DEFECTS,
    "files": FILES,
    **DEFECTS,
    **CLIENTS,
}

if __name__ == "__main__":
    main(SEQUENCES)
