#pragma once

/// Forgets the colour pairs of a terminal that has been closed.
void strata_pairs_forget(void);
