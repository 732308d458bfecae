/* reader -- work on layers or changes that is to read them and nothing else: in a jail
 * (sandbox/jail.h) that stands for the user whom the folder belongs to, and may read also
 * what he has closed to himself. */
#pragma once

struct jail;
struct outcome;

/* `j` has its folder, in, out, leash, file_max, work and arg, the rest is set here; the
 * work's result is a struct outcome, `*o`.  Why there was none is said there, too. */
void reader_run(struct jail *j, struct outcome *o);
