/* name_rate -- how many new names a wildcard's rule may bring: 64 in any minute.
 *
 * A name below a wildcard has a label that the guest chose, and the lookup upstream
 * carries it out.  The count is exact: in no span of 60 s are there more, whatever the
 * guest's timing, which a counter that is set back each minute does not give.
 *
 * A zeroed struct is ready for use; one belongs to each wildcard rule (520 bytes). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NAME_RATE_MAX 64
#define NAME_RATE_MS  60000

struct name_rate {
	int64_t taken[NAME_RATE_MAX]; /* when each of the last names came */
	uint32_t count;		      /* how many were taken, up to NAME_RATE_MAX */
	uint32_t next;		      /* the oldest in `taken`, which goes next */
};

/* Takes one new name at `now`, in ms of base/clock.h, which never goes back.  Returns
 * false if the minute's names are used up, and then counts nothing. */
bool name_rate_take(struct name_rate *r, int64_t now);
