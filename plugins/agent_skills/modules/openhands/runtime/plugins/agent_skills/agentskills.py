"""agentskills -- functions for cells, under the name that OpenHands' start cell imports.

    from openhands.runtime.plugins.agent_skills.agentskills import *

DOCUMENTATION is a text about all of them but file_editor.
"""
import inspect
import re

from hutch_agent_skills import models
from hutch_agent_skills.editor import file_editor  # noqa: F401
from hutch_agent_skills.files import (  # noqa: F401
    find_file,
    goto_line,
    open_file,
    scroll_down,
    scroll_up,
    search_dir,
    search_file,
)
from hutch_agent_skills.models import parse_audio, parse_image, parse_video  # noqa: F401
from hutch_agent_skills.readers import parse_docx, parse_latex, parse_pdf, parse_pptx  # noqa: F401

__all__ = ["open_file", "goto_line", "scroll_down", "scroll_up", "search_dir", "search_file", "find_file",
           "parse_pdf", "parse_docx", "parse_latex", "parse_pptx"]
if models.is_there():
    __all__ += ["parse_audio", "parse_video", "parse_image"]
try:
    from openhands_aci.indexing.locagent.tools import (  # noqa: F401
        explore_tree_structure,
        get_entity_contents,
        search_code_snippets,
    )
    __all__ += ["get_entity_contents", "search_code_snippets", "explore_tree_structure"]
except Exception:  # without openhands_aci, and where one of its many packages is broken
    pass


def documentation_of(function):
    """Returns the function's signature and its text, each line four columns in."""
    # Annotations are texts here, which are printed in quotes.
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    lines = [line.strip() for line in (function.__doc__ or "").split("\n")]
    text = "\n".join("    " + line for line in lines if line)
    return f"{function.__name__}{signature}:\n{text}\n\n"


DOCUMENTATION = "".join(documentation_of(globals()[name]) for name in __all__)
__all__ += ["file_editor"]
