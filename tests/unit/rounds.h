/* rounds -- how often a unit test repeats its work.  `make test` runs unit tests with
 * sanitizers only, where a round costs several times as much, and does an eighth of the
 * rounds; `make nightly` does all of them in gcc's build, too. */
#pragma once

#ifdef __SANITIZE_ADDRESS__
#define ROUNDS_OF(n) ((n) / 8)
#else
#define ROUNDS_OF(n) (n)
#endif
