#pragma once

/// Forgets the colour pairs of a terminal that has been closed.
void strata_pairs_forget(void);

/// Forgets which look the terminal was left with.
void strata_forget_look(void);

/// Sends everything that ncurses writes while `draw` runs, in one write.
void strata_draw(void (*draw)(void));
