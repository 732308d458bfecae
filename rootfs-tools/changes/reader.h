/* reader -- runs work that only reads layers or changes, in a jail
 * (sandbox/root/jail.h).  The jail has the user id of the folder's owner, and may
 * also read files whose mode forbids that to the owner. */
#pragma once

struct jail;
struct outcome;

/* The caller sets folder, in, out, leash, file_max, work and arg of `j`; reader_run()
 * sets the other members.  The work's result is written to `*o`; if the work gives no
 * result, the error in `*o` says why. */
void reader_run(struct jail *j, struct outcome *o);
