/* runtime_tags -- computes the tags of OpenHands' runtime images exactly as OpenHands
 * does (openhands/runtime/utils/runtime_build.py of 0.62):
 *
 *	versioned	oh_vVERSION_BASE: BASE is the base's name in lower case, with '/'
 *			as _s_ and ':' as _t_, cut to its last 96 characters
 *	lock		oh_vVERSION_H: H is the MD5 of the base's name, then "False" if
 *			the image gets no browser, pyproject.toml and poetry.lock
 *	source		oh_vVERSION_H_S: S is the hash of the package's folder
 *			(rootfs-tools/build/source_hash.h)
 *
 * H and S are numbers of base 36, the lowest digit first, cut to 16 digits. */
#pragma once
#include <stdbool.h>

struct err;

struct runtime_tags {
	char *source, *lock, *versioned; /* owned; whole references: REPOSITORY:TAG */
};

struct runtime_wish {
	const char *base;	/* name of the base image, such as
				 * "nikolaik/python-nodejs:python3.12-nodejs22" */
	const char *repository; /* repository of the new images, such as
				 * "ghcr.io/openhands/runtime" */
	const char *version;	/* OpenHands' version; NULL: the version in
				 * pyproject.toml */
	const char *project; /* a folder with openhands/, pyproject.toml, poetry.lock */
	bool has_no_browser;
};

int runtime_tags_make(const struct runtime_wish *w, struct runtime_tags *ret,
		      struct err *e);
void runtime_tags_done(struct runtime_tags *t);

/* Converts 32 hexadecimal digits to the 16 digits of base 36; exported for tests. */
void runtime_tags_shorten(const char *hex, char ret[17]);
