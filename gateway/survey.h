/* survey -- an answer about several sandboxes, which waits until each of them has been asked.
 *
 * A server that finds sandboxes again knows their names and states, but not their ports:
 *
 *	struct survey *s = survey_begin(v, answer);
 *	survey_add(s, b);	for each sandbox that the answer is about
 *	survey_end(s);		calls answer(v) now, or when the last one has said */
#pragma once

struct box;
struct survey;
struct visit;

struct survey *survey_begin(struct visit *v, void (*answer)(struct visit *v));
/* Asks a sandbox with a main process for its ports, unless they are known.  The answer does
 * not wait for a sandbox that starts, and a sandbox that fails does not hold it up. */
void survey_add(struct survey *s, struct box *b);
/* Frees the survey in the end. */
void survey_end(struct survey *s);
