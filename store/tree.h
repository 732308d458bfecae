/* tree -- a folder removed with everything in it.
 *
 * Whatever is in it, written by a guest or not, is only unlinked, by descriptor and
 * without following a link, with a handful of descriptors however deep it is.  What
 * somebody moves out of it meanwhile leads nowhere else. */
#pragma once

/* Opens a folder that its owner may have closed to himself, following no link.  A
 * descriptor, or -1 with errno set. */
int tree_open(int parent, const char *name);

/* What cannot be removed stays. */
void tree_remove(int parent, const char *name);
