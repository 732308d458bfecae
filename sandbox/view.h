/* view -- the layers of an image as the one tree that they make, to be read, and nothing
 * written over it. */
#pragma once

struct err;
struct list;

/* `lowers`: paths of folders, the lowest one first; none: an empty tree.  A descriptor of the
 * root; what is shown is there as long as it, or one below it, is open. */
int view_open(const struct list *lowers, struct err *e);
