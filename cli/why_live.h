/* why_live -- answers whether a live sandbox may connect to HOST:PORT, by the rules that are
 * in force there.  Its supervisor is asked for them; nothing is connected. */
#pragma once

struct answer;
struct err;

int why_live(const char *name, const char *where, struct answer *ret, struct err *e);
