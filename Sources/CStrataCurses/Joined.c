// Characters that a terminal joins into one cell and ncurses would cut: emoji with joiners, a letter with a vowel sign of its own width. Each
// stands on ncurses's picture as a character that is as wide and that nothing else uses; what goes out has the joined text in its place.

#include <stdlib.h>
#include <string.h>

#include "CStrataCurses.h"

enum { WIDE_FIRST = 0x30000, WIDE_LAST = 0x3134A, NARROW_FIRST = 0xF0000, LIMIT = WIDE_LAST - WIDE_FIRST + 1, TEXT = 80 };

struct joined {
  uint8_t length;
  char text[TEXT];
};

// What stands for a text, by its width; a place is taken for as long as the program runs.
static struct places {
  struct joined *all;
  int count, capacity;
  uint32_t first;
} wide = {.first = WIDE_FIRST}, narrow = {.first = NARROW_FIRST};

static size_t encode(uint32_t scalar, char *out) {
  if (scalar < 0x80) return out[0] = (char)scalar, 1;
  int more = scalar < 0x800 ? 1 : scalar < 0x10000 ? 2 : 3;
  static const unsigned leads[] = {0, 0xC0, 0xE0, 0xF0};
  for (int index = more; index > 0; index--, scalar >>= 6) out[index] = (char)(0x80 | (scalar & 0x3F));
  out[0] = (char)(leads[more] | scalar);
  return (size_t)more + 1;
}

uint32_t strata_join(const uint32_t *scalars, int count, int width) {
  struct joined made = {0};
  for (int index = 0; index < count; index++) {
    if (made.length + 4 > TEXT) break;
    made.length += (uint8_t)encode(scalars[index], made.text + made.length);
  }
  struct places *places = width == 2 ? &wide : &narrow;
  for (int index = 0; index < places->count; index++) {
    struct joined *known = &places->all[index];
    if (known->length == made.length && memcmp(known->text, made.text, made.length) == 0) return places->first + (uint32_t)index;
  }
  if (places->count == LIMIT) return 0;
  if (places->count == places->capacity) {
    int capacity = places->capacity == 0 ? 64 : places->capacity * 2;
    struct joined *larger = realloc(places->all, (size_t)capacity * sizeof *larger);
    if (larger == NULL) return 0;
    places->all = larger;
    places->capacity = capacity;
  }
  places->all[places->count] = made;
  return places->first + (uint32_t)places->count++;
}

bool strata_has_joined(void) { return wide.count + narrow.count > 0; }

size_t strata_write_joined(const char *bytes, size_t count, char *out) {
  size_t length = 0;
  for (size_t at = 0; at < count;) {
    const unsigned char *rest = (const unsigned char *)bytes + at;
    const struct joined *found = NULL;
    if (rest[0] >= 0xF0 && count - at >= 4) {
      uint32_t scalar = (uint32_t)(rest[0] & 7) << 18 | (uint32_t)(rest[1] & 0x3F) << 12 | (uint32_t)(rest[2] & 0x3F) << 6 | (rest[3] & 0x3F);
      if (scalar - WIDE_FIRST < (uint32_t)wide.count) found = &wide.all[scalar - WIDE_FIRST];
      else if (scalar - NARROW_FIRST < (uint32_t)narrow.count) found = &narrow.all[scalar - NARROW_FIRST];
    }
    const char *text = found ? found->text : bytes + at;
    size_t taken = found ? found->length : 1;
    memcpy(out + length, text, taken);
    length += taken;
    at += found ? 4 : 1;
  }
  return length;
}
