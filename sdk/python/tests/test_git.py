"""git, the setup script and microagents, with both kinds of handles."""
import logging
import time
import unittest

from support import Case, hutch, run
from hutch import microagents
from hutch.observations import observation

AGENT = "---\nname: sums\ntype: knowledge\ntriggers:\n- add\n- 'the sum' # of all\nversion: 1.0\n---\n\nCheck.\n"
COMMIT = "git add -A; git -c user.name=A -c user.email=a@b commit -qm x"
MAKE = f"""mkdir org repo; cd org; git init -qb main; mkdir microagents; echo org >microagents/o.md; {COMMIT}
cd ../repo; git init -qb main; mkdir -p .openhands/microagents; printf '%s' "$AGENT" >.openhands/microagents/s.md
echo one >a; echo 'cd /; export X=y; echo hi; false' >.openhands/setup.sh
echo 'test ! -e bad' >.openhands/pre-commit.sh; {COMMIT}; cd .."""
READY = [("setting_up_workspace", logging.INFO), ("ready", logging.INFO),
         ("setting_up_git_hooks", logging.INFO), ("ready", logging.INFO)]


class Heads(unittest.TestCase):
    def test_the_head_of_a_file_is_read_and_the_rest_is_ignored(self):
        def parsed(content):
            m = microagents.parse("d/x.md", content)
            return m.name, m.type, m.triggers, m.text
        self.assertEqual(parsed(AGENT), ("sums", "knowledge", ("add", "the sum"), "Check."))
        self.assertEqual(parsed("text"), ("x", "repo", (), "text"))
        self.assertEqual(parsed(None), ("x", "repo", (), ""))
        self.assertEqual(parsed("---\ntriggers: [a, \"b\"]\n---\nt"), ("x", "knowledge", ("a", "b"), "t"))
        for text in ("---\nname: x", "----\nname: y\n---\n", " \n---\nname: y\n---"):
            self.assertEqual(parsed(text), ("x", "repo", (), text.strip()))
        for head in ("name:\n- a\ntype: evil\ntriggers: a", "name: []\ntype: [repo]\n  - b\n: x\n-",
                     "\x00: y\nname :z"):
            self.assertEqual(parsed(f"---\n{head}\n---\nt")[:3], ("x", "repo", ()), head)

    def test_a_file_of_a_stranger_takes_no_time(self):
        wide = " " * 60000
        began = time.process_time()
        for head in (f"name: x{wide}y", f"name: x {wide}# y", "k:\n" + "- a\n" * 16000, f"k:{wide}\x1f",
                     f"{wide}x", f"k: [{wide}]"):
            for _ in range(4):
                microagents.parse("x.md", f"---\n{head}\n---\n")
        self.assertLess(time.process_time() - began, 3)
        self.assertEqual(microagents.parse("x.md", f"---\nname: y{wide}# z\n---\n").name, "y")

    def test_an_answer_without_what_it_must_have_is_none(self):
        base = {"message": "", "content": "", "extras": {"path": "p"}}
        own = {"log": None, "truncated_chars": 0, "restarted": False, "previous": None, "refused": [], "took_ms": 1}
        for kind, more in (("git_changes", {}), ("git_diff", {}), ("git_clone", {}), ("microagents", {}),
                           ("git_changes", {"changes": [{"status": "M"}]}), ("git_changes", {"changes": "x"}),
                           ("git_clone", {"git": {"ahead": "1"}}), ("microagents", {"microagents": [1]})):
            with self.assertRaises(hutch.ProtocolError, msg=(kind, more)):
                observation({**base, "observation": kind, "hutch": {**own, **more}})


class InASandbox(Case):
    def check(self, repository, changes, diff, agents, org, script, told):
        self.assertEqual((repository.branch, repository.has_diverged, repository.ahead), ("main", False, 0))
        self.assertEqual([(c.status, c.path) for c in changes.changes], [("M", "a"), ("A", "new")])
        self.assertFalse(changes.is_cut)
        self.assertEqual((diff.modified, diff.original), ("one\ntwo\n", "one\n"))
        self.assertEqual([(m.name, m.triggers) for m in agents], [("sums", ("add", "the sum"))])
        self.assertEqual([(m.name, m.type, m.content) for m in org], [("o", "repo", "org\n")])
        self.assertEqual((script.content, script.exit_code), ("hi", 1))
        self.assertEqual([(s.value, level) for level, s, _ in told][-6:], READY[:2] + READY)
        self.assertEqual(told[-2][1].runtime_status, "STATUS$SETTING_UP_GIT_HOOKS")

    def test_a_repository_is_cloned_looked_at_and_set_up(self):
        told = []
        with hutch.Sandbox(env={"AGENT": AGENT}, on_status=lambda *all: told.append(all)) as box:
            box.run("{\n" + MAKE + "\n}").check()
            got = box.git.clone("/workspace/repo", "/tmp/copy").repository
            box.run("cd /tmp; echo two >>copy/a; touch copy/new").check()
            changes, diff = box.git.changes("copy"), box.git.diff("copy/a").diff
            agents, org = box.microagents("copy"), box.microagents(org="/workspace/org")
            self.assertNotIn("hutch-org", box.list("/tmp").content)
            output = []
            script = box.setup("copy", on_output=output.append)
            self.assertIn("hi", "".join(output))
            self.check(got, changes, diff, agents, org, script, told[:])
            self.assertEqual(box.run("echo $X $PWD").content, "y /")
            self.assertEqual(box.run(f"cd /tmp/copy; touch bad; {COMMIT}").exit_code, 1)
            self.assertEqual(box.git.branch("x", "/tmp/copy", create=True).repository.branch, "x")
            with self.assertRaises(hutch.ActionError) as raised:
                box.git.branch("none", "/tmp/copy")
            self.assertIn("invalid reference", raised.exception.message)
            for wrong in (lambda: box.git.clone("http://h/x", token="t"),
                          lambda: box.git.changes("/tmp/copy", ref="-x")):
                self.assertRaises(hutch.InvalidActionError, wrong)
            self.assertRaises(hutch.ActionError, box.microagents, org="/none")
            box.run("head -c 200000 /dev/zero | tr '\\0' x >/tmp/copy/AGENTS.md")
            self.assertRaises(hutch.LimitError, box.microagents, "/tmp/copy")

    def test_the_same_by_asyncio(self):
        async def body():
            told = []
            async with hutch.AsyncSandbox(env={"AGENT": AGENT}, on_status=lambda *all: told.append(all)) as box:
                (await box.run("{\n" + MAKE + "\n}")).check()
                got = (await box.git.clone("/workspace/repo", "/tmp/copy")).repository
                (await box.run("cd /tmp; echo two >>copy/a; touch copy/new")).check()
                changes, diff = await box.git.changes("copy"), (await box.git.diff("copy/a")).diff
                agents, org = await box.microagents("copy"), await box.microagents(org="/workspace/org")
                script = await box.setup("copy")
                self.check(got, changes, diff, agents, org, script, told[:])
                self.assertEqual((await box.git.branch("x", "/tmp/copy", create=True)).repository.branch, "x")
                await box.git.setup("/tmp/copy", name="A", email="a@b")
                self.assertEqual((await box.run("git config user.name")).content, "A")
                self.assertIn("pre-commit", (await box.git.install_hooks("/tmp/copy")).content)
        run(body())


if __name__ == "__main__":
    unittest.main()
