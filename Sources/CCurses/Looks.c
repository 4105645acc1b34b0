// Fewer bytes for the same picture. ncurses sets a look in several sequences, each of which begins anew, and sets it before every move of
// the cursor too; here the look that is wanted is only noted, and sent in one sequence before the next byte that shows it.
//
//     ESC [39m ESC (B ESC [m  ESC [5;3H  ESC (B ESC [0;1m ESC [33m x      becomes      ESC [5;3H  ESC [0;1;33m x

#include <string.h>

#include "CCurses.h"

enum { BOLD = 1, DIM = 2, ITALIC = 4, UNDERLINE = 8, BLINK = 16, REVERSE = 32, HIDDEN = 64, STRIKE = 128 };

// A colour as SGR writes it: 30…37, 90…97, 256 + n of the 256 colours, 39 the terminal's own; of the ground 10 more, or 256 + n, or 49.
struct look {
  int ink, paper, attributes;
};

static const struct look PLAIN = {39, 49, 0};

static bool looks_equal(struct look a, struct look b) {
  return a.ink == b.ink && a.paper == b.paper && a.attributes == b.attributes;
}

// Takes one sequence of parameters; false where it says what is not known here.
static bool take(struct look *look, const int *values, int count, bool *begins_anew) {
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

// Writes the sequence that leads from one look to another: what is new alone where nothing goes, otherwise anew.
static size_t write_look(char *out, struct look from, struct look to) {
  struct parameters list = {{0}, 0};
  if (from.attributes & ~to.attributes) {
    if (!looks_equal(to, PLAIN)) add(&list, 0);
    add_attributes(&list, to.attributes);
    if (to.ink != PLAIN.ink) add_colour(&list, to.ink, 38);
    if (to.paper != PLAIN.paper) add_colour(&list, to.paper, 48);
  } else if (!looks_equal(to, PLAIN)) {
    add_attributes(&list, to.attributes & ~from.attributes);
    if (to.ink != from.ink) add_colour(&list, to.ink, 38);
    if (to.paper != from.paper) add_colour(&list, to.paper, 48);
  }
  memcpy(out, "\033[", 2);
  memcpy(out + 2, list.text, list.length);
  out[2 + list.length] = 'm';
  return list.length + 3;
}

size_t strata_shorten_looks(const char *bytes, size_t count, char *out) {
  struct look shown = PLAIN, wanted = PLAIN;
  bool is_known = false;  // what the picture before left behind is not
  size_t length = 0;
  for (size_t at = 0; at < count;) {
    const char *rest = bytes + at;
    size_t left = count - at;
    if (left >= 3 && rest[0] == '\033' && rest[1] == '(') {
      if (rest[2] != 'B') return 0;  // signs of another set: as it was
      at += 3;
      continue;
    }
    if (rest[0] == '\033' && (left < 2 || rest[1] != '[')) return 0;
    if (rest[0] != '\033') {
      if (rest[0] != '\r' && rest[0] != '\b' && is_known && !looks_equal(shown, wanted)) {
        length += write_look(out + length, shown, wanted);
        shown = wanted;
      }
      out[length++] = bytes[at++];
      continue;
    }
    size_t end = 2;
    while (end < left && (unsigned char)rest[end] < 0x40) end++;
    if (end == left) return 0;
    char final = rest[end];
    if (final != 'm' || rest[2] == '?' || rest[2] == '>') {
      // Where the cursor goes has no look; what clears, shifts or repeats has.
      bool moves = strchr("HGdfABCDEF", final) != NULL || rest[2] == '?';
      if (!moves && is_known && !looks_equal(shown, wanted)) {
        length += write_look(out + length, shown, wanted);
        shown = wanted;
      }
      memcpy(out + length, rest, end + 1);
      length += end + 1;
      at += end + 1;
      continue;
    }
    int values[32] = {0}, values_count = 1;
    for (size_t index = 2; index < end; index++) {
      if (rest[index] == ';') {
        if (values_count == 32) return 0;
        values[values_count++] = 0;
      } else if (rest[index] >= '0' && rest[index] <= '9' && values[values_count - 1] < 1000) {
        values[values_count - 1] = values[values_count - 1] * 10 + rest[index] - '0';
      } else {
        return 0;
      }
    }
    bool begins_anew = false;
    if (!take(&wanted, values, values_count, &begins_anew)) return 0;
    if (!is_known) {
      memcpy(out + length, rest, end + 1);
      length += end + 1;
      if (begins_anew) {
        is_known = true;
        shown = wanted;
      }
    }
    at += end + 1;
  }
  if (is_known && !looks_equal(shown, wanted)) length += write_look(out + length, shown, wanted);
  return length;
}
