/* await -- waits for one descriptor until a given time.
 *
 * The wait is a loop of its own, so it reads the clock (clock.h).  A caller that
 * waits for several descriptors has its own loop with poll(2). */
#pragma once
#include <stdint.h>

/* Waits for `events` (poll(2)) or until the time `due`; with `due` 0 there is no
 * time-out.  An event that is there already is found even if `due` is past.  Returns
 * 1 if the descriptor is ready, or broken; 0 if the time has come; -1 with errno
 * set. */
int await_ready(int fd, short events, int64_t due);
