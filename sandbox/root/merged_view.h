/* merged_view -- shows the layers of an image as one tree, read-only. */
#pragma once

struct err;
struct list;

/* Shows the folders `lowers`, the lowest one first, as one tree; an empty list
 * makes an empty tree.  Returns a descriptor of the root; the tree exists as
 * long as that descriptor, or one below it, is open. */
int merged_view_open(const struct list *lowers, struct err *e);
