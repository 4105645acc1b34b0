#pragma once

// A thin layer over ncursesw and the signals of a full-screen program.
//
// ncurses is macros and variadic functions, and what must happen while a process dies must be safe in a signal handler:
// both are plainer in C. Keys are not read through ncurses; see TerminalInput in the module StrataCurses.
//
// Everything but `strata_wake` is called from one thread.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: Waiting

/// What `strata_wait` found, as bits.
enum {
  STRATA_INPUT = 1,        ///< bytes can be read
  STRATA_INPUT_ENDED = 2,  ///< the terminal is gone
  STRATA_WOKEN = 4,        ///< `strata_wake` was called
  STRATA_RESIZED = 8,      ///< SIGWINCH
  STRATA_CONTINUED = 16,   ///< SIGCONT
  STRATA_STOP = 32,        ///< SIGTSTP from outside
  STRATA_TERMINATE = 64,   ///< SIGTERM
  STRATA_HANGUP = 128,     ///< SIGHUP
  STRATA_INTERRUPTED = 256,  ///< SIGINT from outside; the key ^c sends none
};

/// Makes the pipe through which signals and other threads end a wait. Call once, first. False: errno says why.
bool strata_events_open(void);

/// Ends the current or the next wait. Any thread, any number of times; cheap.
void strata_wake(void);

/// Waits for input on `input` (-1: none), a signal or a wake.
/// @param milliseconds  -1: for ever.
/// @return bits of the enumeration above; 0 when the time is over.
unsigned strata_wait(int input, int milliseconds);

/// Reads what is there. @return bytes read; 0: nothing; -1: the terminal is gone.
long strata_read(int input, uint8_t *bytes, size_t capacity);

/// Whether `strata_read` would find something.
bool strata_has_input(int input);

/// Whether `strata_wait` would return at once.
bool strata_has_events(int input);

// MARK: Screen

/// Why a screen could not be opened.
enum {
  STRATA_SCREEN_OK = 0,
  STRATA_SCREEN_UNKNOWN_TERMINAL = 1,  ///< no description for TERM
  STRATA_SCREEN_NO_CURSOR = 2,         ///< the terminal cannot move its cursor
  STRATA_SCREEN_FAILED = 3,            ///< errno says why
};

/// Takes the terminal: raw keys, alternate screen, crash handlers, stderr kept aside.
/// @param colours  whether colours may be used.
int strata_screen_open(bool colours);

/// Gives the terminal back as it was, and writes what was kept of stderr. Does nothing a second time.
void strata_screen_close(void);

/// Gives the terminal back for a while (`stop`, an editor).
void strata_screen_leave(void);
/// Takes it again; everything must be painted anew.
void strata_screen_enter(void);

/// Stops the process and its group as the shell's `^z` does; returns when it goes on. The screen must be left.
void strata_stop(void);

/// The size that the terminal has now.
void strata_screen_size(int *columns, int *rows);
/// Tells ncurses a new size; everything must be painted anew.
void strata_screen_resize(int columns, int rows);

/// Colours that can be used: 0, 8, 16, 88, 256 …
int strata_screen_colours(void);
/// Whether the terminal and the locale show more than ASCII.
bool strata_locale_is_utf8(void);

/// Puts one cell. Attributes are the bits of StrataTerminal's `Attributes`; colours are -1 or a number below
/// `strata_screen_colours()`.
void strata_put(int row, int column, const uint32_t *scalars, int count, unsigned attributes, int foreground,
                int background);
/// What stands on ncurses's picture for scalars that the terminal joins in one cell of `width` columns; 0 where nothing is left. The text goes
/// out in its place.
uint32_t strata_join(const uint32_t *scalars, int count, int width);
/// Whether anything stands for joined text.
bool strata_has_joined(void);
/// Writes a picture's bytes with the joined texts in the places of what stands for them.
/// @param out  has room for STRATA_JOINED_GROWTH times as many bytes.
/// @return how many bytes it is then.
size_t strata_write_joined(const char *bytes, size_t count, char *out);
#define STRATA_JOINED_GROWTH 20
/// Places the terminal's cursor, or hides it (row -1).
void strata_cursor(int row, int column);
/// Forgets what the terminal shows: the next flush paints everything.
void strata_repaint(void);
/// Sends what differs, in one write.
void strata_flush(void);
/// A look as SGR writes it: 30…37, 90…97, 256 + n of the 256 colours, 39 the terminal's own; of the ground 10 more, or 256 + n, or 49.
struct strata_look {
  int ink, paper, attributes;
};
/// What is known of a terminal, for the bytes of one picture to build on those before.
struct strata_wire {
  /// Whether it goes to a column of the same row (`CSI n G`), and stays in its last column until the next character.
  bool moves_along_rows;
  /// Whether it repeats a character (`CSI n b`).
  bool repeats;
  /// Whether `look` is the one that the bytes before have left.
  bool knows_look;
  struct strata_look look;
  /// Whether the signs of another set may be on since a picture that was left as it was.
  bool may_be_shifted;
};
/// Rewrites a picture's bytes so that looks, moves and runs of one character take as few as can be; the picture is the same.
/// @param out  has room for STRATA_WIRE_GROWTH times as many bytes.
/// @return how many bytes it is then; 0 where something in it is not known, and `out` is not to be used.
size_t strata_shorten(struct strata_wire *wire, const char *bytes, size_t count, char *out);
#define STRATA_WIRE_GROWTH 16
/// The terminal repeats characters; it is asked when the screen is opened, where its description says so.
void strata_repeat_characters(void);
/// Whether the terminal shows what is sent between two marks at once (mode 2026); it is asked when the screen is opened.
void strata_synchronize_updates(bool on);
/// Sends bytes that leave the picture as it is (clipboard). False: they could not be written.
bool strata_send(const uint8_t *bytes, size_t count);
/// Rings.
void strata_bell(void);
/// Turns reports of clicks and the wheel on or off.
void strata_mouse(bool on);

// MARK: Ending and other programs

/// Ends the process by `signal` in two seconds, if it has not ended by then. A signal that is caught does so itself.
void strata_limit_goodbye(int signal);

/// Ends the process by `signal`, as if nothing had caught it.
void strata_die(int signal);

/// Runs a program in the foreground of this terminal, in this process's group, and waits for its end.
/// The screen must be left.
/// @param arguments  ends with NULL; the first is looked up in PATH.
/// @param status  as from `waitpid`.
/// @return 0, or the number of the error for which it could not be started.
int strata_run_in_foreground(char *const arguments[], int *status);
/// How a program ended: its exit status, or -1 minus the signal that killed it.
int strata_exit_status(int status);

/// Whether crashing would start a backtracer that asks questions on the terminal. See `strata_screen_open`.
bool strata_has_interactive_backtracer(void);
