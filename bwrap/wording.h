/* wording -- errors about mounts in bwrap's words, which its callers look for. */
#pragma once

struct err;

/* Replaces hutch's words at the beginning of an error's text.  Returns -1. */
int wording_of_bwrap(struct err *e);
