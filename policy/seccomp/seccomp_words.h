/* seccomp_words -- the names of the filter's parts in messages that name a rule. */
#pragma once

#define SECCOMP_THE_FLOOR   "the floor"
#define SECCOMP_THE_DEFAULT "the default profile"
