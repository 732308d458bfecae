/* template -- runs a template of docker's --format over a JSON value.
 *
 * The language is the part of Go's text/template that callers of docker use: fields
 * (.A.B), variables, strings, numbers, pipelines, parentheses, `if`, `else if`, `else`,
 * `range`, `with`, comments, {{- and -}}, and the functions of docker/template_call.h.
 * All else is an error.
 *
 * The texts of values may come from the inside of a sandbox: they are printed as they
 * are, so a caller that prints to a terminal escapes the result (base/term_escape.h). */
#pragma once

#include "cli/common/json_view.h"

struct buffer;
struct err;

/* Checks the form alone, in branches that no value leads to, too. */
int template_check(const char *text, struct err *e);

/* Appends to `out`.  `data` comes from json_view_scan(). */
int template_run(const char *text, struct json_view data, struct buffer *out,
		 struct err *e);
