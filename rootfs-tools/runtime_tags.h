/* runtime_tags -- what OpenHands calls its runtime images (openhands/runtime/utils/
 * runtime_build.py of 0.62), to the letter:
 *
 *	versioned	oh_vVERSION_BASE: '/' as _s_, ':' as _t_, in lower case, and of
 *			that the last 96 characters
 *	lock		oh_vVERSION_H: H is the MD5 of the base's name, "False" where
 *			there is to be no browser, pyproject.toml and poetry.lock
 *	source		oh_vVERSION_H_S: S is the hash of the package's folder
 *			(rootfs-tools/source_hash.h)
 *
 * H and S are numbers of base 36, the lowest digit first, of which 16 are taken. */
#pragma once
#include <stdbool.h>

struct err;

struct runtime_tags {
	char *source, *lock, *versioned; /* owned; whole references: REPOSITORY:TAG */
};

struct runtime_wish {
	const char *base;	/* such as "nikolaik/python-nodejs:python3.12-nodejs22" */
	const char *repository; /* such as "ghcr.io/openhands/runtime" */
	const char *version;	/* NULL: as pyproject.toml has it */
	const char *project; /* a folder with openhands/, pyproject.toml, poetry.lock */
	bool has_no_browser;
};

int runtime_tags_make(const struct runtime_wish *w, struct runtime_tags *ret,
		      struct err *e);
void runtime_tags_done(struct runtime_tags *t);

/* 32 hexadecimal digits as those 16 digits; exported for tests. */
void runtime_tags_shorten(const char *hex, char ret[17]);
