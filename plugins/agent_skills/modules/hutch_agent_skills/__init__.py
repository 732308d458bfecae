"""hutch_agent_skills -- what openhands.runtime.plugins.agent_skills.agentskills is made of.

files.py      looks at a file, and searches in files
readers.py    prints what is in PDF, DOCX, PPTX and LaTeX files
models.py     asks a model about sounds, pictures and videos
editor.py     edits, by the executor's editor
stand_in.py   keeps an installed package `openhands` usable beside ours

Python 3.9 and its standard library are enough; readers.py and models.py look for packages when
they need them.
"""
