/* listing -- a folder as the editor shows it: its entries, two levels deep.
 *
 * The output is that of `find -L PATH -maxdepth 2 | sort`, by the bytes of the paths,
 * without hidden names and with a slash behind folders; links to folders are folders.
 * A folder that cannot be read, or shows a process, is listed without its entries.  At
 * most LISTING_NAMES names are read, so that a folder of millions does not take
 * long. */
#pragma once
#include <stddef.h>

#define LISTING_NAMES 65536

struct buffer;

/* Appends the list, clipped as edit.h says, and counts the hidden names of the folder
 * itself and the characters left out.  `path` is without a slash at its end. */
void listing_put(struct buffer *to, int folder, const char *path, size_t *ret_hidden,
		 size_t *ret_cut);
