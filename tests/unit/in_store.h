/* in_store -- an empty store for a unit test, in the folder of a scene.
 * Include it behind cmocka.h. */
#pragma once
#include "store/store.h"
#include "tests/unit/scene.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static inline int in_store_setup(void **state)
{
	int rc = scene_setup(state);

	return rc ? rc : setenv("XDG_DATA_HOME", *state, 1);
}

static inline void in_store_open(struct store *s)
{
	struct err e;

	if (store_open(s, true, &e) < 0)
		fail_msg("%s", e.text);
}

static inline bool in_store_has(const struct store *s, const char *path)
{
	return faccessat(s->root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
