/* editor -- MSG_EDIT: an agent's editor, in the words that its models know.
 *
 * docs/actions.md says what each command does and each text means; what is done to a
 * text is edit.h's, what was there before history.h's, how a file is opened and replaced
 * files.h's.  All of it is done here and now, as the command's user, and whatever goes
 * wrong is the text of the answer: only who we are afterwards can end the executor. */
#pragma once

struct edit_request;
struct err;
struct files;
struct history;

/* -1: the executor must end, since it could not become itself again. */
int editor_edit(const struct files *f, const struct edit_request *r, struct history *h,
		struct err *e);
