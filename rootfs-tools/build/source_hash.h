/* source_hash -- the MD5 of a folder as python's dirhash 0.5 computes it (the
 * Dirhash Standard with the entry properties "name" and "data"); OpenHands uses
 * it in the names of its images.
 *
 * Left out, as there: all below a folder whose name begins with '.', or that is
 * called __pycache__ or NAME.pyc; files called NAME.pyc; and folders in which
 * nothing is left.  Links are followed; a link to a folder that it is in is an
 * error. */
#pragma once

struct err;

#define SOURCE_HASH_TEXT 33

int source_hash(const char *folder, char ret[SOURCE_HASH_TEXT], struct err *e);
