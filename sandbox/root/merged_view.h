/* merged_view -- shows the layers of an image as one tree, read-only. */
#pragma once

struct err;
struct list;

/* `lowers`: paths of folders, the lowest one first; none: an empty tree.
 * Returns a descriptor of the root; the tree exists as long as that descriptor,
 * or one below it, is open. */
int merged_view_open(const struct list *lowers, struct err *e);
