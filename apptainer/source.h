/* source -- the word of Apptainer's that names an image, or an instance. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

enum source_kind {
	SOURCE_IMAGE,	 /* a reference */
	SOURCE_HOST,	 /* the word "host": this machine's /usr */
	SOURCE_STORED,	 /* a reference of an image that is in the store */
	SOURCE_ARCHIVE,	 /* a file: an OCI archive or one of docker save */
	SOURCE_LAYOUT,	 /* a folder with an OCI layout */
	SOURCE_SIF,	 /* a file of Apptainer's own form (sif.h) */
	SOURCE_FOLDER,	 /* a folder with a root file system, Apptainer's sandbox */
	SOURCE_INSTANCE, /* the name of a sandbox that lives */
};

struct source {
	enum source_kind kind;
	char *word; /* owned: the reference, the path without links, or the name */
	uint64_t offset; /* in a SIF, of its root file system */
	char *tag;  /* owned: of an archive or layout, behind the path; NULL: none */
};

void source_done(struct source *s);

/* Reads the word, and looks at the file or folder that it names.  A definition file, and
 * images that only other kinds of servers have, are errors that say what to do instead. */
int source_read(const char *word, struct source *ret, struct err *e);

/* Whether there is a file at `path` below the folder; links are followed within the
 * folder, as its sandbox would. */
bool source_has(const struct source *s, const char *path);
