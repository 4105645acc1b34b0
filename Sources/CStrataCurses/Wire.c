// Fewer bytes for the same picture. ncurses sets a look in several sequences, each of which begins anew, and sets it before every move of
// the cursor too; here the look that is wanted is only noted, and sent in one sequence before the next byte that shows it. It goes to
// places by row and column where a column, or the next line, would do; and it writes out what a terminal can repeat.
//
//     ESC [39m ESC (B ESC [m  ESC [5;3H  ESC (B ESC [0;1m ESC [33m x      becomes      ESC [5;3H  ESC [0;1;33m x
//     ESC [5;3H x ESC [5;40H y ESC [6;1H z                                becomes      ESC [5;3H x ESC [40G y CR LF z
//     ESC [5;130H x ESC [5;135H y                                         becomes      ESC [5;130H x ESC [4C y
//     ESC [0;2m x ESC [m   ESC [2m y                                      becomes      ESC [0;2m x   y
//     ────────────────────────────────────────                            becomes      ─ ESC [39b

#include <string.h>

#include "CStrataCurses.h"

enum { BOLD = 1, DIM = 2, ITALIC = 4, UNDERLINE = 8, BLINK = 16, REVERSE = 32, HIDDEN = 64, STRIKE = 128 };

enum { SHIFT_OUT = 0x0E, SHIFT_IN = 0x0F };

static const struct strata_look PLAIN = {39, 49, 0};

static bool looks_equal(struct strata_look a, struct strata_look b) {
  return a.ink == b.ink && a.paper == b.paper && a.attributes == b.attributes;
}

// Takes one sequence of parameters; false where it says what is not known here.
static bool read_look(struct strata_look *look, const int *values, int count, bool *begins_anew) {
  for (int index = 0; index < count; index++) {
    int value = values[index];
    if (value == 0) {
      *look = PLAIN;
      *begins_anew = true;
    } else if (value >= 1 && value <= 9) {
      if (value == 6) return false;
      static const int attributes[] = {0, BOLD, DIM, ITALIC, UNDERLINE, BLINK, 0, REVERSE, HIDDEN, STRIKE};
      look->attributes |= attributes[value];
    } else if (value == 22) {
      look->attributes &= ~(BOLD | DIM);
    } else if (value == 23) {
      look->attributes &= ~ITALIC;
    } else if (value == 24) {
      look->attributes &= ~UNDERLINE;
    } else if (value == 25) {
      look->attributes &= ~BLINK;
    } else if (value == 27) {
      look->attributes &= ~REVERSE;
    } else if (value == 28) {
      look->attributes &= ~HIDDEN;
    } else if (value == 29) {
      look->attributes &= ~STRIKE;
    } else if ((value == 38 || value == 48) && index + 2 < count && values[index + 1] == 5) {
      if (value == 38) look->ink = 256 + values[index + 2];
      else look->paper = 256 + values[index + 2];
      index += 2;
    } else if ((value >= 30 && value <= 37) || value == 39 || (value >= 90 && value <= 97)) {
      look->ink = value;
    } else if ((value >= 40 && value <= 47) || value == 49 || (value >= 100 && value <= 107)) {
      look->paper = value;
    } else {
      return false;
    }
  }
  return true;
}

static size_t number(char *out, int value) {
  char digits[12];
  size_t count = 0, length = 0;
  do digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  while (count > 0) out[length++] = digits[--count];
  return length;
}

struct parameters {
  char text[64];
  size_t length;
};

static void add(struct parameters *list, int value) {
  if (list->length > 0) list->text[list->length++] = ';';
  list->length += number(list->text + list->length, value);
}

static void add_colour(struct parameters *list, int colour, int lead) {
  if (colour < 256) return add(list, colour);
  add(list, lead);
  add(list, 5);
  add(list, colour - 256);
}

static void add_attributes(struct parameters *list, int attributes) {
  static const int order[] = {BOLD, DIM, ITALIC, UNDERLINE, BLINK, REVERSE, HIDDEN, STRIKE};
  static const int values[] = {1, 2, 3, 4, 5, 7, 8, 9};
  for (int index = 0; index < 8; index++)
    if (attributes & order[index]) add(list, values[index]);
}

// A look from nothing.
static struct parameters anew(struct strata_look to) {
  struct parameters list = {{0}, 0};
  if (looks_equal(to, PLAIN)) return list;
  add(&list, 0);
  add_attributes(&list, to.attributes);
  if (to.ink != PLAIN.ink) add_colour(&list, to.ink, 38);
  if (to.paper != PLAIN.paper) add_colour(&list, to.paper, 48);
  return list;
}

// What goes of a look, and what comes.
static struct parameters changed(struct strata_look from, struct strata_look to) {
  static const int order[] = {ITALIC, UNDERLINE, BLINK, REVERSE, HIDDEN, STRIKE};
  static const int ends[] = {23, 24, 25, 27, 28, 29};
  struct parameters list = {{0}, 0};
  int gone = from.attributes & ~to.attributes, come = to.attributes & ~from.attributes;
  if (gone & (BOLD | DIM)) {
    add(&list, 22);  // ends both
    come |= to.attributes & (BOLD | DIM);
  }
  for (int index = 0; index < 6; index++)
    if (gone & order[index]) add(&list, ends[index]);
  add_attributes(&list, come);
  if (to.ink != from.ink) add_colour(&list, to.ink, 38);
  if (to.paper != from.paper) add_colour(&list, to.paper, 48);
  return list;
}

// Writes the sequence that leads from one look to another, as short as can be.
static size_t write_look(char *out, struct strata_look from, struct strata_look to) {
  struct parameters list = anew(to), other = changed(from, to);
  if (other.length < list.length) list = other;
  memcpy(out, "\033[", 2);
  memcpy(out + 2, list.text, list.length);
  out[2 + list.length] = 'm';
  return list.length + 3;
}

// MARK: The picture before and after

// What goes out, and what is known of the terminal at its end.
struct outgoing {
  struct strata_wire *wire;
  char *bytes;
  size_t length;
  struct strata_look wanted;
  int row, column;  // of the cursor, from 1; 0 where it is not known
  bool has_region;
};

static void put_bytes(struct outgoing *out, const char *bytes, size_t count) {
  memcpy(out->bytes + out->length, bytes, count);
  out->length += count;
}

// The cursor has gone on by so many columns, where it is known of what is shown that each takes one; 0 where it is not.
static void advance(struct outgoing *out, int columns) {
  out->column = columns > 0 && out->column > 0 ? out->column + columns : 0;
}

static void settle_look(struct outgoing *out) {
  struct strata_wire *wire = out->wire;
  if (!wire->knows_look || looks_equal(wire->look, out->wanted)) return;
  out->length += write_look(out->bytes + out->length, wire->look, out->wanted);
  wire->look = out->wanted;
}

static bool marks_blanks(struct strata_look look) { return look.attributes & (UNDERLINE | BLINK | REVERSE | STRIKE); }

// Sets a look as far as a blank shows it: ink and weight are not seen of one.
static void settle_paper(struct outgoing *out) {
  struct strata_look wanted = out->wanted;
  if (!marks_blanks(wanted) && !marks_blanks(out->wire->look)) {
    out->wanted = out->wire->look;
    out->wanted.paper = wanted.paper;
  }
  settle_look(out);
  out->wanted = wanted;
}

// Sets the look of the character at the beginning. A blank that a mark may join is none.
static void settle_look_of(struct outgoing *out, const char *rest, size_t left) {
  if (rest[0] == ' ' && (left < 2 || (unsigned char)rest[1] < 0x80)) settle_paper(out);
  else settle_look(out);
}

// `ESC [ value final`
static void put_sequence(struct outgoing *out, int value, char final) {
  put_bytes(out, "\033[", 2);
  out->length += number(out->bytes + out->length, value);
  out->bytes[out->length++] = final;
}

// The bytes of the character at the beginning that may be repeated: printable ASCII, and the lines, blocks and dots of U+2500 … U+28FF.
static size_t repeatable(const char *rest, size_t left) {
  const unsigned char *bytes = (const unsigned char *)rest;
  if (bytes[0] >= 0x20 && bytes[0] < 0x7F) return 1;
  bool is_drawing = left >= 3 && bytes[0] == 0xE2 && ((bytes[1] >= 0x94 && bytes[1] <= 0x97) || (bytes[1] >= 0xA0 && bytes[1] <= 0xA3));
  return is_drawing ? 3 : 0;
}

// Writes a run of one character; answers the bytes that it took, or 0 where a run is not worth it.
static size_t put_run(struct outgoing *out, const char *rest, size_t left) {
  size_t width = repeatable(rest, left);
  if (width == 0) return 0;
  size_t count = 1;
  while ((count + 1) * width <= left && memcmp(rest, rest + count * width, width) == 0) count++;
  // A mark that joins the last one stands beside it, as it came.
  if (count * width < left && (unsigned char)rest[count * width] >= 0x80 && width == 1) count--;
  if (count < 2 || (count - 1) * width <= 6) return 0;
  settle_look_of(out, rest, 1);
  put_bytes(out, rest, width);
  put_sequence(out, (int)count - 1, 'b');
  advance(out, width == 1 ? (int)count : 0);
  return count * width;
}

static int digits(int value) { return value < 10 ? 1 : value < 100 ? 2 : 3; }

// Goes to a place by as little as leads there.
static void put_place(struct outgoing *out, int row, int column, const char *sequence, size_t count) {
  bool is_below = out->row > 0 && row == out->row + 1 && !out->has_region;
  bool is_near = out->wire->moves_along_rows && (row == out->row || is_below);
  int ahead = out->column > 0 && !is_below ? column - out->column : 0;
  out->row = row;
  out->column = column;
  if (!is_near) return put_bytes(out, sequence, count);
  if (column == 1) put_bytes(out, "\r", 1);
  if (is_below) put_bytes(out, "\n", 1);
  if (column == 1) return;
  if (ahead == 1) put_bytes(out, "\033[C", 3);
  else if (ahead > 0 && digits(ahead) < digits(column)) put_sequence(out, ahead, 'C');
  else put_sequence(out, column, 'G');
}

// The numbers of a sequence, those left out 0; -1 where there is something else or too much.
static int read_numbers(const char *sequence, size_t end, int *values, int limit) {
  int count = 1;
  values[0] = 0;
  for (size_t index = 2; index < end; index++) {
    if (sequence[index] == ';') {
      if (count == limit) return -1;
      values[count++] = 0;
    } else if (sequence[index] >= '0' && sequence[index] <= '9' && values[count - 1] < 1000) {
      values[count - 1] = values[count - 1] * 10 + sequence[index] - '0';
    } else {
      return -1;
    }
  }
  return count;
}

static int at_least_one(int value) { return value > 0 ? value : 1; }

// A sequence that says no look.
static void put_other(struct outgoing *out, const char *sequence, size_t end) {
  char final = sequence[end];
  int values[2] = {0, 0};
  int count = read_numbers(sequence, end, values, 2);
  // Where the cursor goes has no look; what clears, shifts or repeats has.
  if (final == 'X') settle_paper(out);
  else if (strchr("HGdfABCDEF", final) == NULL && sequence[2] != '?') settle_look(out);
  if (count > 0 && (final == 'H' || final == 'f')) {
    return put_place(out, at_least_one(values[0]), at_least_one(values[1]), sequence, end + 1);
  }
  bool is_next = count > 0 && final == 'd' && out->row > 0 && values[0] == out->row + 1 && !out->has_region;
  if (count > 0 && final == 'd') out->row = at_least_one(values[0]);
  else if (strchr("GCDXKJP@", final) == NULL) out->row = 0;
  if (count > 0 && final == 'G') out->column = at_least_one(values[0]);
  else if (strchr("dXKJP@", final) == NULL) out->column = 0;
  if (final == 'r') out->has_region = true;
  if (is_next && out->wire->moves_along_rows) put_bytes(out, "\n", 1);
  else put_bytes(out, sequence, end + 1);
}

static size_t give_up(struct strata_wire *wire) {
  wire->knows_look = false;
  return 0;
}

size_t strata_shorten(struct strata_wire *wire, const char *bytes, size_t count, char *bytes_out) {
  struct outgoing out = {.wire = wire, .bytes = bytes_out, .wanted = wire->knows_look ? wire->look : PLAIN};
  for (size_t at = 0; at < count;) {
    const char *rest = bytes + at;
    size_t left = count - at;
    if (left >= 3 && rest[0] == '\033' && rest[1] == '(') {
      if (rest[2] != 'B') return give_up(wire);  // signs of another set: as it was
      at += 3;
      continue;
    }
    // tmux ends a look by going back to the set that is on anyway.
    if (rest[0] == SHIFT_OUT) {
      wire->may_be_shifted = true;
      return give_up(wire);
    }
    if (rest[0] == SHIFT_IN) {
      if (wire->may_be_shifted) put_bytes(&out, rest, 1);
      wire->may_be_shifted = false;
      at += 1;
      continue;
    }
    if (rest[0] == '\033' && (left < 2 || rest[1] != '[')) return give_up(wire);
    if (rest[0] != '\033') {
      size_t run = wire->repeats ? put_run(&out, rest, left) : 0;
      if (run == 0) {
        if (rest[0] != '\r' && rest[0] != '\b' && rest[0] != '\n') settle_look_of(&out, rest, left);
        if (rest[0] == '\n') {
          settle_look(&out);  // a line that comes in from below has the look of the moment
          out.row = 0;
        }
        if (rest[0] == '\r') out.column = 1;
        else if (rest[0] != '\n') advance(&out, rest[0] >= 0x20 && rest[0] < 0x7F ? 1 : 0);
        put_bytes(&out, rest, run = 1);
      }
      at += run;
      continue;
    }
    size_t end = 2;
    while (end < left && (unsigned char)rest[end] < 0x40) end++;
    if (end == left) return give_up(wire);
    if (rest[end] != 'm' || rest[2] == '?' || rest[2] == '>') {
      put_other(&out, rest, end);
      at += end + 1;
      continue;
    }
    int values[32];
    int values_count = read_numbers(rest, end, values, 32);
    bool begins_anew = false;
    if (values_count < 0 || !read_look(&out.wanted, values, values_count, &begins_anew)) return give_up(wire);
    if (!wire->knows_look) {
      put_bytes(&out, rest, end + 1);
      if (begins_anew) {
        wire->knows_look = true;
        wire->look = out.wanted;
      }
    }
    at += end + 1;
  }
  settle_look(&out);
  return out.length;
}
