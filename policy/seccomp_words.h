/* seccomp_words -- how the parts of the filter are called, for whoever names a rule. */
#pragma once

#define SECCOMP_THE_FLOOR   "the floor"
#define SECCOMP_THE_DEFAULT "the default profile"
