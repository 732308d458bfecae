/* screen_control -- the effects of control sequences on a screen.
 *
 * Only sequences that this module knows are passed on to the emulator, and it writes them
 * itself from their parsed arguments. */
#pragma once

struct screen;
struct sequence;

void screen_escape(struct screen *s, const struct sequence *q);
void screen_csi(struct screen *s, const struct sequence *q);
