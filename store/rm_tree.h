/* rm_tree -- removes a folder with everything in it.
 *
 * The content may be hostile: files are only unlinked, by descriptor and without
 * following a link, with a handful of descriptors however deep the tree is.  A folder
 * that is moved out of the tree meanwhile leads to no other place. */
#pragma once

/* Opens a folder without following a link, even a folder without permissions for its
 * owner.  Returns a descriptor, or -1 with errno set. */
int rm_tree_open(int parent, const char *name);

/* Removes the folder `name` with its content; files that cannot be removed stay. */
void rm_tree_remove(int parent, const char *name);
