// Putting cells on ncurses's picture of the screen. What reaches the terminal is ncurses's difference of two pictures.

#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1

#include <curses.h>
#include <wchar.h>

#include "CStrataCurses.h"
#include "Screen.h"

// Pairs are made as they are met; a screen has a few dozen at most. So many have numbers that every ncurses takes: that of macOS, of 2015,
// has no extended pairs.
enum { PAIR_LIMIT = 255 };
static struct {
  int foreground, background;
} pairs[PAIR_LIMIT];
static int pair_count = 0;

void strata_pairs_forget(void) { pair_count = 0; }

static int pair_of(int foreground, int background) {
  if (foreground < 0 && background < 0) return 0;
  if (strata_screen_colours() == 0) return 0;
  for (int index = 0; index < pair_count; index++) {
    if (pairs[index].foreground == foreground && pairs[index].background == background) return index + 1;
  }
  if (pair_count == PAIR_LIMIT || pair_count + 1 >= COLOR_PAIRS) return 0;
  if (init_pair((short)(pair_count + 1), (short)foreground, (short)background) == ERR) return 0;
  pairs[pair_count].foreground = foreground;
  pairs[pair_count].background = background;
  return ++pair_count;
}

static attr_t attributes_of(unsigned bits) {
  static const attr_t each[] = {A_BOLD, A_DIM, A_REVERSE, A_UNDERLINE, A_DIM, A_ITALIC};
  attr_t all = A_NORMAL;
  for (unsigned index = 0; index < sizeof each / sizeof *each; index++) {
    if (bits & (1u << index)) all |= each[index];
  }
  return all;
}

void strata_put(int row, int column, const uint32_t *scalars, int count, unsigned attributes, int foreground,
                int background) {
  wchar_t text[CCHARW_MAX + 1];
  if (count > CCHARW_MAX) count = CCHARW_MAX;
  for (int index = 0; index < count; index++) text[index] = (wchar_t)scalars[index];
  text[count] = 0;
  int pair = pair_of(foreground, background);
  cchar_t cell;
  if (setcchar(&cell, text, attributes_of(attributes), (short)pair, NULL) == ERR) return;
  mvadd_wch(row, column, &cell);
}

static int cursor_is_visible = -1;
static int cursor_row = -1, cursor_column = 0;

void strata_cursor(int row, int column) {
  cursor_row = row;
  cursor_column = column;
}

void strata_repaint(void) {
  strata_forget_look();
  cursor_is_visible = -1;
  clearok(curscr, TRUE);
}

static void draw(void) {
  int visible = cursor_row >= 0;
  if (visible) move(cursor_row, cursor_column);
  if (visible != cursor_is_visible) curs_set(visible);
  cursor_is_visible = visible;
  refresh();
}

void strata_flush(void) { strata_draw(draw); }

void strata_bell(void) { beep(); }
