/* await -- one descriptor, waited for until a time.
 *
 * This is a loop of its own, so it reads the clock (clock.h).  A caller that waits for more
 * than one descriptor has a loop with poll(2). */
#pragma once
#include <stdint.h>

/* Waits for `events` (poll(2)) or for the time `due`, which 0 puts off for ever.  An event
 * that is there already is found, even if `due` is past.  1: the descriptor is ready, or
 * broken; 0: the time has come; -1 with errno. */
int await_ready(int fd, short events, int64_t due);
