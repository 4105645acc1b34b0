// Taking the terminal and giving it back, by ncurses in good times and by bare writes in bad ones.

#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "CStrataCurses.h"
#include "Screen.h"
#include "Shared.h"

// Of <term.h>, which would make `columns`, `lines` and two hundred other words macros.
extern int setupterm(const char *name, int file, int *found);
extern char *tigetstr(const char *capability);
extern int tigetflag(const char *capability);

volatile sig_atomic_t strata_screen_is_ours = 0;

static SCREEN *screen;
static int terminal = -1;  // a copy of standard output that everything goes to
static int canvas = -1;    // another that only ncurses writes to; memory while it draws a picture
static int memory = -1;
static bool updates_are_synchronized;
static struct strata_wire wire;
static int nowhere = -1;   // /dev/null, put in its place when the process is dying
static struct termios termios_before;
static bool knows_modes, mouse_is_on, colours_are_on;
static char reset[512];
static size_t reset_length;

// MARK: Standard error

static int errors = -1, errors_before = -1;

static int anonymous_file(void) {
#ifdef __linux__
  return memfd_create("stderr", MFD_CLOEXEC);
#else
  FILE *file = tmpfile();
  return file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
#endif
}

// What is written to stderr meanwhile would land in the picture and vanish with it: it waits in memory.
static void keep_errors_aside(void) {
  if (!isatty(STDERR_FILENO)) return;
  errors_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (errors_before < 0) return;
  errors = anonymous_file();
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  else close(errors_before);
}

// Safe in a signal handler.
static void release_errors(void) {
  if (errors < 0) return;
  dup2(errors_before, STDERR_FILENO);
  char part[1024];
  off_t place = 0;
  ssize_t count;
  while ((count = pread(errors, part, sizeof part, place)) > 0) {
    place += count;
    for (ssize_t done = 0; done < count;) {
      ssize_t written = write(STDERR_FILENO, part + done, (size_t)(count - done));
      if (written <= 0) break;
      done += written;
    }
  }
  close(errors);
  close(errors_before);
  errors = errors_before = -1;
}

// MARK: Sequences

static bool send_all(int file, const void *bytes, size_t count) {
  const char *next = bytes;
  while (count > 0) {
    ssize_t written = write(file, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    count -= (size_t)written;
  }
  return true;
}

static void send_text(const char *text) { send_all(terminal, text, strlen(text)); }

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define UPDATE_BEGINS "\033[?2026h"
#define UPDATE_ENDS "\033[?2026l"
#define ASK_FOR_SYNCHRONIZED_UPDATES "\033[?2026$p"
#define ASK_FOR_BACKGROUND "\033]11;?\033\\"
// A character on the empty picture, three times repeated, and where the cursor is then: many terminals say that they are an xterm
// and do not know all that it knows, or repeat nothing but ASCII. Row 2, as the answer of row 1 would be a function key.
#define ASK_FOR_REPEATING(character) "\033[2;1H" character "\033[3b\033[6n\r\033[K\033[H"
// Texts that only some terminals join in one cell, from row 3 on; where the cursor is behind each says how this one draws it.
#define ASK_FOR_WIDTH(row, text) "\033[" row ";1H" text "\033[6n\r\033[K"
#define ASK_FOR_WIDTHS                                                                                  \
  ASK_FOR_WIDTH("3", "\u0915\u093E") ASK_FOR_WIDTH("4", "\U0001F469\u200D\U0001F467")                 \
  ASK_FOR_WIDTH("5", "\U0001F44D\U0001F3FD") "\033[H"
#define MOUSE_ON "\033[?1000h\033[?1006h"
#define MOUSE_OFF "\033[?1006l\033[?1000l"

static void add_to_reset(const char *name) {
  char *text = tigetstr(name);
  if (text == NULL || text == (char *)-1) return;
  while (*text && reset_length + 1 < sizeof reset) {
    if (text[0] == '$' && text[1] == '<') {  // a pause for the hardware of long ago
      while (*text && *text != '>') text++;
      if (*text) text++;
      continue;
    }
    reset[reset_length++] = *text++;
  }
}

static void add_text_to_reset(const char *text) {
  while (*text && reset_length + 1 < sizeof reset) reset[reset_length++] = *text++;
}

// Built while all is well, because nothing may be looked up when it is needed.
static void build_reset(void) {
  reset_length = 0;
  if (knows_modes) add_text_to_reset(MOUSE_OFF PASTE_OFF);
  add_to_reset("op");
  add_to_reset("sgr0");
  add_to_reset("cnorm");
  char *leave = tigetstr("rmcup");
  if (leave == NULL || leave == (char *)-1) add_text_to_reset("\r\n");
  add_to_reset("rmcup");
}

void strata_restore_in_handler(void) {
  if (!strata_screen_is_ours) return;
  strata_screen_is_ours = 0;
  (void)!write(STDOUT_FILENO, reset, reset_length);
  if (terminal >= 0 && nowhere >= 0) dup2(nowhere, terminal);  // another thread may be painting
  tcsetattr(STDIN_FILENO, TCSANOW, &termios_before);
  release_errors();
}

// MARK: Opening and closing

static void settle_locale(void) {
  // Only the characters: each other category would be read from a file of its own before the first picture.
  setlocale(LC_CTYPE, "");
  if (strata_locale_is_utf8()) return;
  // A UTF-8 locale that is asked for but not installed, common over ssh, still means a UTF-8 terminal.
  const char *names[] = {getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")};
  for (int index = 0; index < 3; index++) {
    if (names[index] == NULL || *names[index] == 0) continue;
    if (strcasestr(names[index], "utf-8") || strcasestr(names[index], "utf8")) setlocale(LC_CTYPE, "C.UTF-8");
    return;
  }
}

bool strata_locale_is_utf8(void) { return strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

static bool may_know_synchronized_updates(void) {
  const char *name = getenv("TERM");
  return knows_modes && name != NULL && strncmp(name, "linux", 5) != 0;
}

static bool has_capability(const char *name) {
  char *text = tigetstr(name);
  return text != NULL && text != (char *)-1;
}

static void learn_wire(void) {
  wire = (struct strata_wire){0};
  char *column = tigetstr("hpa");
  wire.moves_along_rows =
      tigetflag("xenl") > 0 && column != NULL && column != (char *)-1 && strcmp(column, "\033[%i%p1%dG") == 0;
}

static void set_up_keys(void) {
  raw();
  noecho();
  nonl();
  scrollok(stdscr, FALSE);
  idlok(stdscr, TRUE);
  typeahead(-1);  // it would look for keys in the middle of a picture, and leave half of it out
}

static void turn_modes_on(void) {
  if (!knows_modes) return;
  send_text(PASTE_ON);
  if (mouse_is_on) send_text(MOUSE_ON);
}

static void turn_modes_off(void) {
  if (!knows_modes) return;
  if (mouse_is_on) send_text(MOUSE_OFF);
  send_text(PASTE_OFF);
}

// These understand what xterm does, and a machine that one reaches over ssh seldom has their descriptions.
static const char *const like_xterm[] = {"xterm-", "alacritty", "contour", "foot", "ghostty", "kitty", "rio", "wezterm"};

/// The name under which the terminal is described here; NULL if it is not.
static const char *described_terminal(void) {
  const char *name = getenv("TERM"), *xterm = "xterm-256color";
  int found = 0;
  if (name == NULL || setupterm(name, STDOUT_FILENO, &found) == OK) return name;
  for (size_t index = 0; index < sizeof like_xterm / sizeof *like_xterm; index++) {
    if (strncmp(name, like_xterm[index], strlen(like_xterm[index])) != 0) continue;
    return setupterm(xterm, STDOUT_FILENO, &found) == OK ? xterm : NULL;
  }
  return NULL;
}

int strata_screen_open(bool colours) {
  settle_locale();
  const char *description = described_terminal();
  if (description == NULL) return STRATA_SCREEN_UNKNOWN_TERMINAL;
  char *move_cursor = tigetstr("cup");
  if (move_cursor == NULL || move_cursor == (char *)-1) return STRATA_SCREEN_NO_CURSOR;
  if (tcgetattr(STDIN_FILENO, &termios_before) < 0) return STRATA_SCREEN_FAILED;
  terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  canvas = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  memory = anonymous_file();
  nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  FILE *output = terminal < 0 || canvas < 0 ? NULL : fdopen(canvas, "w");
  if (output == NULL) return STRATA_SCREEN_FAILED;

  char *mouse = tigetstr("kmous");
  knows_modes = mouse != NULL && mouse != (char *)-1;
  mouse_is_on = knows_modes;
  build_reset();
  keep_errors_aside();
  strata_signals_catch();
  strata_screen_is_ours = 1;
  screen = newterm(description, output, stdin);
  if (screen == NULL) {
    strata_screen_is_ours = 0;
    strata_signals_release();
    release_errors();
    return STRATA_SCREEN_UNKNOWN_TERMINAL;
  }
  colours_are_on = colours && has_colors() && start_color() == OK && use_default_colors() == OK;
  strata_pairs_forget();
  set_up_keys();
  int columns, rows;
  strata_screen_size(&columns, &rows);
  if (COLS != columns || LINES != rows) resize_term(rows, columns);
  // What a terminal shows that does not know the question is cleared by what follows.
  if (may_know_synchronized_updates()) send_text(ASK_FOR_SYNCHRONIZED_UPDATES);
  if (may_know_synchronized_updates() && colours_are_on) send_text(ASK_FOR_BACKGROUND);
  refresh();
  learn_wire();
  if (knows_modes && has_capability("rep")) {
    send_text(strata_locale_is_utf8() ? ASK_FOR_REPEATING("\u2500") : ASK_FOR_REPEATING(" "));
  }
  if (may_know_synchronized_updates() && strata_locale_is_utf8() && rows > 5 && columns > 8) send_text(ASK_FOR_WIDTHS);
  turn_modes_on();
  return STRATA_SCREEN_OK;
}

void strata_screen_leave(void) {
  if (!strata_screen_is_ours) return;
  turn_modes_off();
  endwin();
  strata_screen_is_ours = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &termios_before);
  release_errors();
}

void strata_screen_enter(void) {
  if (strata_screen_is_ours) return;
  tcgetattr(STDIN_FILENO, &termios_before);
  keep_errors_aside();
  strata_screen_is_ours = 1;
  strata_forget_look();
  reset_prog_mode();
  set_up_keys();
  clearok(curscr, TRUE);
  refresh();
  turn_modes_on();
}

void strata_screen_close(void) {
  if (screen == NULL) return;
  strata_screen_leave();
  strata_signals_release();
}

// MARK: Size and modes

void strata_screen_size(int *columns, int *rows) {
  struct winsize size;
  *columns = 80;
  *rows = 24;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    *columns = size.ws_col;
    *rows = size.ws_row;
  }
}

void strata_screen_resize(int columns, int rows) {
  if (COLS != columns || LINES != rows) resize_term(rows, columns);
  clearok(curscr, TRUE);
}

int strata_screen_colours(void) { return colours_are_on ? COLORS : 0; }

void strata_mouse(bool on) {
  if (!knows_modes || on == mouse_is_on) return;
  mouse_is_on = on;
  send_text(on ? MOUSE_ON : MOUSE_OFF);
}

bool strata_send(const uint8_t *bytes, size_t count) { return send_all(terminal, bytes, count); }

// MARK: Frames

void strata_synchronize_updates(bool on) { updates_are_synchronized = on; }

void strata_repeat_characters(void) { wire.repeats = true; }

void strata_forget_look(void) { wire.knows_look = false; }

// ncurses hands its buffer over whenever that is full, so that a terminal may show half a picture. Here it draws into
// memory, and the picture goes out in one write.
void strata_draw(void (*draw)(void)) {
  static const size_t before = sizeof UPDATE_BEGINS - 1, after = sizeof UPDATE_ENDS - 1;
  static char *frame;
  static size_t capacity;
  if (memory < 0 || lseek(memory, 0, SEEK_SET) < 0 || dup2(memory, canvas) < 0) {
    strata_forget_look();
    return draw();
  }
  draw();
  dup2(terminal, canvas);
  off_t length = lseek(memory, 0, SEEK_CUR);
  if (length <= 0) return;
  size_t needed = before + (size_t)length + after;
  if (needed > capacity) {
    // What ncurses wrote, and behind it what goes out.
    char *larger = realloc(frame, needed + STRATA_WIRE_GROWTH * needed);
    if (larger == NULL) return strata_repaint();
    frame = larger;
    capacity = needed;
  }
  for (off_t done = 0; done < length;) {
    ssize_t count = pread(memory, frame + done, (size_t)(length - done), done);
    if (count <= 0) return strata_repaint();
    done += count;
  }
  if (strata_has_joined()) {
    static char *joined;
    static size_t joined_capacity;
    if (joined_capacity < STRATA_JOINED_GROWTH * capacity) {
      char *larger = realloc(joined, STRATA_JOINED_GROWTH * capacity);
      if (larger == NULL) return strata_repaint();
      joined = larger;
      joined_capacity = STRATA_JOINED_GROWTH * capacity;
    }
    length = (off_t)strata_write_joined(frame, (size_t)length, joined);
    needed = before + (size_t)length + after;
    if (needed > capacity) {
      char *larger = realloc(frame, needed + STRATA_WIRE_GROWTH * needed);
      if (larger == NULL) return strata_repaint();
      frame = larger;
      capacity = needed;
    }
    memcpy(frame, joined, (size_t)length);
  }
  char *shortened = frame + length;
  memcpy(shortened, UPDATE_BEGINS, before);
  size_t count = strata_shorten(&wire, frame, (size_t)length, shortened + before);
  if (count == 0) {
    memcpy(shortened + before, frame, (size_t)length);
    count = (size_t)length;
  }
  memcpy(shortened + before + count, UPDATE_ENDS, after);
  bool marked = updates_are_synchronized;
  send_all(terminal, marked ? shortened : shortened + before, marked ? before + count + after : count);
}
