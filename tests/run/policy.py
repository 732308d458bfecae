"""policy.py TOP: checks that code, schema and manual page of the tree at TOP
have the same policy keys; prints the flags that the keys stand for."""
import json
import re
import sys

TOP = sys.argv[1]


def text_of(path):
    with open(f"{TOP}/{path}") as file:
        return file.read()


code = re.findall(r'^\t\{ "([a-z_.]+)", "([a-z-]+)", SETTING_', text_of("policy/policy_file.c"),
                  re.MULTILINE)
schema = json.loads(text_of("docs/policy.schema.json"))["properties"]
keys = []
for key, value in schema.items():
    keys += [f"{key}.{k}" for k in value["properties"]] if "properties" in value else [key]
said = {"$schema", "version", "about", "why", "extends", "egress.default"}
assert set(keys) - said == {k for k, _ in code}, set(keys) ^ {k for k, _ in code}

table = text_of("docs/hutch-policy.md").split("### Keys")[1].split("###")[0]
rows = re.findall(r"^\| ([a-z_., ]+) \|", table, re.MULTILINE)
named = {k for row in rows for k in row.split(", ")} - {"key"}
assert named | {"$schema"} == set(keys), named ^ set(keys)
print("\n".join(sorted({flag for _, flag in code})))
