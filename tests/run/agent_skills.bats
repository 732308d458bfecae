#!/usr/bin/env bats
# Tests of the plugin agent_skills: functions for cells of the plugin jupyter.

load helpers

# acts CODE: runs Python code with a hutch act that has both plugins; cell(CODE) runs a cell, which
# begins as OpenHands' first cell does.
acts() {
	"$here/act.py" "$HUTCH" '
def cell(code):
    o = a.action("run_ipython", code=code, include_extra=False)
    assert o.observation == "run_ipython", o
    return o.content
start = cell("from openhands.runtime.plugins.agent_skills.agentskills import *")
assert start == "[Code executed successfully with no output]", start
'"$1" --plugin jupyter --plugin agent_skills
}

@test "the functions say what their tests say" {
	python3 -SEB "$top/tests/plugins/agent_skills_test.py"
}

@test "cells open files, move in them and search" {
	acts '
write("/workspace/d/f", "\n".join(f"line {n}" for n in range(1, 151)))
text = cell("open_file(\"d/f\", 100, 4)")
assert text == ("[File: /workspace/d/f (150 lines total)]\n(97 more lines above)\n98|line 98\n99|line 99\n"
                "100|line 100\n101|line 101\n102|line 102\n(48 more lines below)\n"
                "[Use `scroll_down` to view the next 100 lines of the file!]"), text
assert "(this is the end of the file)" in cell("scroll_down()")
assert cell("goto_line(151)") == "ERROR: Line number must be between 1 and 150."
assert cell("search_dir(\"line 77\")") == ("[Found 1 matches for \"line 77\" in ./]\n./d/f (Line 77): line 77\n"
                                        "[End of matches for \"line 77\" in ./]")'
}

@test "file_editor edits by the executor's editor, whose undo knows the edits of actions" {
	acts '
import re
def edit(*args, **named):
    text = cell(f"print(file_editor(*{args!r}, **{named!r}))")
    found = re.fullmatch(r"<(oh_aci_output_[0-9a-f]{32})>\n(.*)\n</\1>", text)
    return json.loads(found[2])
o = edit("create", "/workspace/f", "one\ntwo\n")
assert o == {"output": "File created successfully at: /workspace/f", "error": None, "path": "/workspace/f",
             "prev_exist": False, "old_content": None, "new_content": "one\ntwo\n",
             "formatted_output_and_error": "File created successfully at: /workspace/f"}, o
a.action("edit", command="str_replace", path="/workspace/f", old_str="one", new_str="1")
o = edit("insert", "/workspace/f", insert_line=0, new_str="0")
assert (o["old_content"], o["new_content"], o["prev_exist"]) == ("1\ntwo\n", "0\n1\ntwo\n", True), o
edit("undo_edit", "/workspace/f")
o = edit("undo_edit", "/workspace/f")
assert (o["old_content"], o["new_content"]) == ("1\ntwo\n", "one\ntwo\n"), o
o = edit("undo_edit", "/workspace/f")
assert o["error"] == "No edit history found for /workspace/f." and set(o) == {
    "output", "error", "formatted_output_and_error"}, o
assert edit("view", "f")["error"].startswith("Invalid `path` parameter: f. The path should be an absolute path")
assert edit("create", "/workspace/n", "a\0b")["error"].endswith("it has the character NUL.")
assert edit("view", 5)["error"] == "Invalid `path` parameter: 5. It should be a text."
assert cell("1 + 1") == "2"'
}

@test "outside a cell file_editor says that it has no editor" {
	acts '
o = run("python3 -c \"from openhands.runtime.plugins.agent_skills.agentskills import *; print(file_editor(\x27view\x27, \x27/\x27))\"")
assert "HUTCH_EDITOR is not set" in o.content, o'
}
