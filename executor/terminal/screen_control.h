/* screen_control -- the effects of control sequences on a screen.
 *
 * Only sequences that are known here reach the emulator, written anew by our own
 * code. */
#pragma once

struct screen;
struct sequence;

void screen_escape(struct screen *s, const struct sequence *q);
void screen_csi(struct screen *s, const struct sequence *q);
