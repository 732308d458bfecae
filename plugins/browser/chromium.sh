#!/bin/sh
# Starts Chromium, whose path is HUTCH_CHROMIUM, with a bound on each file that it writes: a
# download that is larger fails with EFBIG, as a full disk would have it.  Without the trap the
# signal SIGXFSZ would end the browser.
trap '' XFSZ
ulimit -f "$HUTCH_CHROMIUM_FILE_BLOCKS"
exec "$HUTCH_CHROMIUM" "$@"
