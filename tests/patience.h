/* patience -- the one constant that bounds deadlocks in tests.
 *
 * A test that waits this long has hung, and fails.  No test passes or fails by how long
 * something took: order comes from a line read, a descriptor closed or an event, and a
 * busy machine only makes a test slower.  tests/patience.py and tests/patience.bash read
 * the number from this file. */
#pragma once

#define PATIENCE_S 120
#define PATIENCE_MS (PATIENCE_S * 1000)
