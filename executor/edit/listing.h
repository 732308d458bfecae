/* listing -- a folder as the editor shows it: its entries, two levels deep.
 *
 * The output is that of `find -L PATH -maxdepth 2 | sort`, by the bytes of the paths,
 * without hidden names and with a slash behind folders; links to folders are folders. A
 * folder that cannot be read, or that belongs to a process (/proc/PID), is listed
 * without its entries. At most LISTING_NAMES names are read, so that a folder of
 * millions does not take long. */
#pragma once
#include <stddef.h>

#define LISTING_NAMES 65536

struct buffer;

/* Appends the list, clipped after EDIT_CLIP characters. Counts the hidden names in the
 * folder itself, and the characters left out. `path` has no slash at its end. */
void listing_put(struct buffer *to, int folder, const char *path, size_t *ret_hidden,
		 size_t *ret_cut);
