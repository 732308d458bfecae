/* foreign_flags -- flags that people know from docker, bubblewrap and others and that
 * hutch, or one verb of it, does not have, with what there is instead. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

/* Fills in the error that there is no such flag, if the table has it.  `verb` is the verb
 * of hutch; `name` is the flag without its dashes and value, of `len` bytes.  Returns
 * whether the table has it. */
bool foreign_flags_explain(const char *verb, const char *name, size_t len, struct err *e);
/* Like foreign_flags_explain(), but sets only the remedy of an error that is filled in
 * already.  Returns -1, like the functions of err.h. */
int foreign_flags_remedy(const char *verb, const char *name, size_t len, struct err *e);

/* Refuses a word that begins with a dash of typography, such as an em dash: programs that
 * set text put one in the place of "--", and people copy that. */
int foreign_flags_check_dash(const char *word, struct err *e);
