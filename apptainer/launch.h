/* launch -- the words of hutch that start a command in an image, or an instance of it. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct action;
struct err;
struct source;

/* The label of an instance, whose value is the image, and of one whose commands read the
 * variables in /.singularity.d first. */
#define LABEL_IMAGE "apptainer.image"
#define LABEL_ENTER "apptainer.enter"

enum launch_kind { LAUNCH_EXEC, LAUNCH_RUN, LAUNCH_INSTANCE };

struct launch {
	enum launch_kind kind;
	const struct source *source; /* borrowed */
	const char *shown;	     /* borrowed: the image, as the caller named it */
	char **command; /* borrowed: its words; for LAUNCH_INSTANCE the name */
};

/* Adds the words to *ret.  The image is imported before, if it is a file that was not
 * yet. */
int launch_words(const struct launch *l, struct action *a, struct list *ret,
		 struct err *e);

/* Adds -i, and -t if the caller is at a terminal. */
void launch_add_stdio(struct list *ret);
