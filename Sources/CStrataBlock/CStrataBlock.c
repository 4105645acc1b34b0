#include "CStrataBlock.h"

#include <string.h>

// A block is a row of sequences: a token, whose halves are the number of literals and the length of the match less four (15: more bytes
// follow), the literals, the match's distance in two bytes. The last sequence ends with its literals.
#define SHORTEST 4
// The last match begins at least so many bytes before the end, and the last literals are at least so many.
#define LAST_MATCH 12
#define LAST_LITERALS 5
#define FARTHEST 65535

static uint32_t load32(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap32(word);
#endif
  return word;
}

static uint64_t load64(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static uint32_t hash(uint32_t word, unsigned bits) { return (word * 2654435761u) >> (32 - bits); }

// For each hash of four bytes the newest place, and for each place the one before it with its hash. Places count from 1; 0 is none.
#define INDEX_BITS 14
struct strata_block_index {
  uint16_t newest[1 << INDEX_BITS];
  uint16_t before[STRATA_BLOCK_DICTIONARY + 1];
};

size_t strata_block_index_size(void) { return sizeof(strata_block_index); }

void strata_block_index_make(strata_block_index *index, const uint8_t *dictionary, size_t length) {
  memset(index, 0, sizeof *index);
  for (size_t place = 0; place + SHORTEST <= length; place++) {
    uint16_t *newest = &index->newest[hash(load32(dictionary + place), INDEX_BITS)];
    index->before[place] = *newest;
    *newest = (uint16_t)(place + 1);
  }
}

// MARK: Compressing

// The dictionary and the bytes to be compressed, as one row: place 0 is the dictionary's first byte.
struct row {
  const strata_block_index *index;
  const uint8_t *dictionary;
  size_t before;
  const uint8_t *source;
  size_t length;
};

// The places in the source, as those of an index. A number counts from 1 in the source; `before` is used by effort only.
struct places {
  unsigned bits;
  unsigned effort;
  uint32_t newest[1 << 12];
  uint16_t before[1 << 16];
};

struct match {
  size_t length;
  size_t distance;
};

static size_t common(const uint8_t *left, const uint8_t *right, size_t limit) {
  size_t count = 0;
  while (count + 8 <= limit) {
    uint64_t difference = load64(left + count) ^ load64(right + count);
    if (difference) return count + (size_t)(__builtin_ctzll(difference) >> 3);
    count += 8;
  }
  while (count < limit && left[count] == right[count]) count++;
  return count;
}

// How many bytes from a place of the dictionary on are those from `at` on, at most `limit`: a match may run on into the source.
static size_t common_with_dictionary(const struct row *row, size_t place, size_t at, size_t limit) {
  size_t first = row->before - place < limit ? row->before - place : limit;
  size_t count = common(row->dictionary + place, row->source + at, first);
  return count < first || count == limit ? count : count + common(row->source, row->source + at + count, limit - count);
}

// The least effort: one place of the source is compared, and one of the dictionary if that does not match.
static inline struct match find_first(const struct row *row, const struct places *places, size_t at) {
  const uint8_t *here = row->source + at;
  uint32_t word = load32(here);
  size_t limit = row->length - LAST_LITERALS - at;
  uint32_t number = places->newest[hash(word, places->bits)];
  if (number && load32(row->source + number - 1) == word && at + 1 - number <= FARTHEST)
    return (struct match){common(row->source + number - 1, here, limit), at + 1 - number};
  if (!row->index) return (struct match){0, 0};
  uint16_t next = row->index->newest[hash(word, INDEX_BITS)];
  if (!next || load32(row->dictionary + next - 1) != word || row->before - (next - 1) + at > FARTHEST) return (struct match){0, 0};
  return (struct match){common_with_dictionary(row, next - 1, at, limit), row->before - (next - 1) + at};
}

static struct match find(const struct row *row, const struct places *places, size_t at, size_t shortest) {
  struct match best = {shortest, 0};
  const uint8_t *here = row->source + at;
  uint32_t word = load32(here);
  size_t limit = row->length - LAST_LITERALS - at;
  unsigned tries = places->effort;
  uint32_t number = places->newest[hash(word, places->bits)];
  for (; number && tries; tries--) {
    size_t place = number - 1, distance = at - place;
    if (distance > FARTHEST) break;
    if (load32(row->source + place) == word) {
      size_t length = common(row->source + place, here, limit);
      if (length > best.length) best = (struct match){length, distance};
    }
    // The place before: how far back it lies, or 0.
    uint16_t step = places->before[place & 0xFFFF];
    number = step && step < number ? number - step : 0;
  }
  if (!row->index) return best;
  uint16_t next = row->index->newest[hash(word, INDEX_BITS)];
  for (; next && tries; tries--, next = row->index->before[next - 1]) {
    size_t place = next - 1, distance = row->before - place + at;
    if (distance > FARTHEST) break;
    if (load32(row->dictionary + place) != word) continue;
    // A match that is not longer is not worth measuring.
    if (place + best.length < row->before && best.length < limit && row->dictionary[place + best.length] != here[best.length]) continue;
    size_t length = common_with_dictionary(row, place, at, limit);
    if (length > best.length) best = (struct match){length, distance};
    if (length == limit) break;
  }
  return best;
}

static void insert(struct places *places, const struct row *row, size_t at) {
  uint32_t *newest = &places->newest[hash(load32(row->source + at), places->bits)];
  if (places->effort > 1) {
    size_t step = *newest ? at + 1 - *newest : 0;
    places->before[at & 0xFFFF] = step <= FARTHEST ? (uint16_t)step : 0;
  }
  *newest = (uint32_t)(at + 1);
}

static uint8_t *put_length(uint8_t *target, size_t length) {
  for (; length >= 255; length -= 255) *target++ = 255;
  *target++ = (uint8_t)length;
  return target;
}

// Appends a sequence; without a match it is the last one. Returns null if there is no room.
static uint8_t *put(uint8_t *target, const uint8_t *end, const uint8_t *literals, size_t count, struct match match) {
  size_t needed = 1 + count + count / 255 + 1 + (match.distance ? 3 + match.length / 255 : 0);
  if ((size_t)(end - target) < needed) return 0;
  uint8_t *token = target++;
  *token = (uint8_t)((count < 15 ? count : 15) << 4);
  if (count >= 15) target = put_length(target, count - 15);
  if (count) memcpy(target, literals, count);
  target += count;
  if (!match.distance) return target;
  *target++ = (uint8_t)match.distance;
  *target++ = (uint8_t)(match.distance >> 8);
  size_t rest = match.length - SHORTEST;
  *token |= (uint8_t)(rest < 15 ? rest : 15);
  return rest < 15 ? target : put_length(target, rest - 15);
}

// How many bytes before a match and before its origin are equal, too.
static size_t backwards(const struct row *row, size_t at, size_t distance, size_t anchor) {
  size_t count = 0;
  while (at - count > anchor) {
    size_t here = at - count;
    if (here + row->before <= distance) break;
    size_t place = here + row->before - distance - 1;
    uint8_t byte = place < row->before ? row->dictionary[place] : row->source[place - row->before];
    if (byte != row->source[here - 1]) break;
    count++;
  }
  return count;
}

size_t strata_block_compress(
    const strata_block_index *index, const uint8_t *dictionary, size_t dictionary_length, const uint8_t *source, size_t length,
    uint8_t *target, size_t capacity, unsigned effort) {
  struct row row = {index, dictionary, index ? dictionary_length : 0, source, length};
  const uint8_t *end = target + capacity;
  uint8_t *next = target;
  size_t at = 0, anchor = 0;
  if (length > LAST_MATCH && length <= UINT32_MAX - 1) {
    struct places places;
    places.effort = effort ? effort : 1;
    places.bits = length < 2048 ? 9 : 12;
    memset(places.newest, 0, sizeof(uint32_t) << places.bits);
    size_t last = length - LAST_MATCH;
    // Where nothing matches, steps grow, so that bytes that cannot be compressed cost little.
    size_t misses = 0;
    while (at <= last) {
      struct match match = places.effort == 1 ? find_first(&row, &places, at) : find(&row, &places, at, SHORTEST - 1);
      insert(&places, &row, at);
      if (!match.distance) {
        at += 1 + (misses++ >> (places.effort == 1 ? 6 : 9));
        continue;
      }
      misses = 0;
      while (places.effort > 1 && at + 1 <= last) {
        struct match later = find(&row, &places, at + 1, match.length);
        if (!later.distance) break;
        at++;
        insert(&places, &row, at);
        match = later;
      }
      size_t more = backwards(&row, at, match.distance, anchor);
      size_t matched = at + match.length;
      match.length += more;
      next = put(next, end, source + anchor, at - more - anchor, match);
      if (!next) return 0;
      // The least effort remembers one place within a match, the others all.
      if (places.effort == 1) {
        at = matched - 2;
        if (at <= last) insert(&places, &row, at);
      } else {
        while (++at < matched && at <= last) insert(&places, &row, at);
      }
      at = anchor = matched;
    }
  }
  next = put(next, end, source + anchor, length - anchor, (struct match){0, 0});
  return next ? (size_t)(next - target) : 0;
}

// MARK: Decompressing

// Adds the bytes that continue a length. Returns 0 if they end early or go beyond `limit`.
static int take_length(const uint8_t **block, const uint8_t *end, size_t *length, size_t limit) {
  uint8_t byte;
  do {
    if (*block == end || *length > limit) return 0;
    byte = *(*block)++;
    *length += byte;
  } while (byte == 255);
  return 1;
}

// Copies a match of at most 32 bytes from as many whole ones: what it copies too much is overwritten.
static void copy32(uint8_t *target, const uint8_t *origin) {
  memcpy(target, origin, 16);
  memcpy(target + 16, origin + 16, 16);
}

int strata_block_decompress(
    const uint8_t *dictionary, size_t dictionary_length, const uint8_t *block, size_t block_length, uint8_t *target, size_t length) {
  const uint8_t *end = block + block_length;
  size_t at = 0;
  while (block < end) {
    uint8_t token = *block++;
    size_t count = token >> 4;
    if (count < 15 && end - block >= 16 && length - at >= 16) {
      memcpy(target + at, block, 16);
    } else {
      if (count == 15 && !take_length(&block, end, &count, length)) return 0;
      if (count > (size_t)(end - block) || count > length - at) return 0;
      if (count) memcpy(target + at, block, count);
    }
    at += count;
    block += count;
    if (block == end) return at == length;
    if (end - block < 2) return 0;
    size_t distance = (size_t)block[0] | (size_t)block[1] << 8;
    block += 2;
    count = token & 15;
    if (count == 15 && !take_length(&block, end, &count, length)) return 0;
    count += SHORTEST;
    if (distance == 0 || count > length - at) return 0;
    int is_short = count <= 32 && length - at >= 32;
    if (distance > at) {
      size_t back = distance - at;
      if (back > dictionary_length) return 0;
      const uint8_t *origin = dictionary + dictionary_length - back;
      if (is_short && back >= 32) {
        copy32(target + at, origin);
        at += count;
        continue;
      }
      size_t first = back < count ? back : count;
      memcpy(target + at, origin, first);
      at += first;
      count -= first;
      // What goes on begins with the target's first byte.
      for (size_t place = 0; place < count; place++) target[at + place] = target[place];
    } else if (is_short && distance >= 16) {
      copy32(target + at, target + at - distance);
    } else if (distance >= count) {
      memcpy(target + at, target + at - distance, count);
    } else {
      // Byte by byte, because a match may run over what it makes.
      for (size_t place = 0; place < count; place++) target[at + place] = target[at + place - distance];
    }
    at += count;
  }
  return 0;
}
