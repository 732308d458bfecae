/* screen_control -- what control sequences do to a screen.
 *
 * Only those that are known here reach the emulator, in a form of our own making. */
#pragma once

struct screen;
struct sequence;

void screen_escape(struct screen *s, const struct sequence *q);
void screen_csi(struct screen *s, const struct sequence *q);
