#pragma once

#include <signal.h>
#include <stdbool.h>

/// Whether the terminal is ours: read by signal handlers.
extern volatile sig_atomic_t strata_screen_is_ours;

/// Gives the terminal back by nothing but calls that are safe in a signal handler.
void strata_restore_in_handler(void);

/// Puts handlers on signals: those that tell the loop, and those that restore the terminal and die.
void strata_signals_catch(void);
/// Back to what was there before.
void strata_signals_release(void);
/// The signals of `strata_signals_catch`.
void strata_signals_default_in_child(sigset_t *signals);

/// Makes errno survive a block.
#define KEEPING_ERRNO(block) \
  do {                       \
    int kept = errno;        \
    block;                   \
    errno = kept;            \
  } while (0)
