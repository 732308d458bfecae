/* apply_ahead -- changes whose files are made ahead of their turn.
 *
 * A change that is a small file, and that nothing refuses, is put into a queue.  A second
 * process (apply_maker.h) makes its temporary file while the walk goes on.  Changes leave
 * the queue in their order.  Another change may have been refused meanwhile, so each is
 * checked once more for that; then its file takes its name, and the change is reported.
 * So the effect is that of one change after the other, and a change that cannot be put
 * into the queue waits until the queue is empty. */
#pragma once

struct apply;
struct err;
struct meeting;

/* Returns 1 if the change is in the queue, or refused; 0 if the change does not belong
 * there, and the queue is empty; -1 if the walk ends with the error. */
int apply_ahead_add(struct apply *a, const struct meeting *m, struct err *e);

/* Makes all changes that are in the queue. */
int apply_ahead_finish(struct apply *a, struct err *e);

/* Ends the second process, and removes the files that it has made in vain. */
void apply_ahead_done(struct apply *a);
