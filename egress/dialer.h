/* dialer -- which address of a destination is tried when (RFC 8305, "Happy Eyeballs"):
 * in turns of IPv6 and IPv4, the next one 250 ms after the last or as soon as that has
 * failed, until one is connected or the time is over.
 *
 *	dialer_init(&d, addresses, count, now);
 *	for (;;) {
 *		dialer_next(&d, now) == DIALER_TRY:	connect to d.addresses[d.at]; if that
 *							fails at once, dialer_failed()
 *		DIALER_WAIT:				until dialer_due(), or an event
 *		DIALER_FAILED:				no address is left, or no time
 *	}
 *
 * Nothing here makes a socket or reads a clock: `now` is in ms of base/clock.h.  Where
 * descriptors are scarce, the caller calls dialer_hold() instead of trying: the address
 * then has its turn when another attempt has failed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/address.h"

#define DIALER_ADDRESSES_MAX 8	   /* addresses that are tried of one destination */
#define DIALER_NEXT_MS	     250   /* RFC 8305, section 5: Connection Attempt Delay */
#define DIALER_MS	     15000 /* for all attempts together */

enum dialer_step { DIALER_TRY, DIALER_WAIT, DIALER_FAILED };

enum dialer_attempt { DIALER_UNTRIED, DIALER_TRYING, DIALER_HAS_FAILED };

struct dialer {
	struct address addresses[DIALER_ADDRESSES_MAX]; /* in the order of attempts */
	uint8_t attempts[DIALER_ADDRESSES_MAX];		/* enum dialer_attempt */
	uint8_t count;
	uint8_t at;	 /* with DIALER_TRY: the index of the address to try */
	int64_t next_at; /* when the next address has its turn */
	int64_t due;	 /* when all attempts have failed */
};

/* Puts the first DIALER_ADDRESSES_MAX of the addresses in order, the families in turns,
 * and IPv6 first; within a family the order stays. */
void dialer_init(struct dialer *d, const struct address *addresses, size_t count,
		 int64_t now);

/* Says what is to be done now; with DIALER_TRY the attempt has begun. */
enum dialer_step dialer_next(struct dialer *d, int64_t now);

/* Notes that an attempt has failed: the next address has its turn at once. */
void dialer_failed(struct dialer *d, size_t at, int64_t now);

/* Takes back the attempt that dialer_next() has just begun: there is no descriptor for
 * it.  Another turn comes after DIALER_NEXT_MS. */
void dialer_hold(struct dialer *d, int64_t now);

/* Returns when dialer_next() is to be called again. */
int64_t dialer_due(const struct dialer *d);
