#pragma once

/// Forgets the colour pairs of a terminal that has been closed.
void strata_pairs_forget(void);

/// Sends everything that ncurses writes while `draw` runs, in one write.
void strata_draw(void (*draw)(void));
