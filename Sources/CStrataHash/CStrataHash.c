#include "CStrataHash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

// CRC-32C, bit-reflected: the polynomial 0x1EDC6F41 read backwards.
#define POLYNOMIAL 0x82F63B78u

// Three streams are hashed side by side, because the instruction takes three cycles and one can begin in each. Blocks
// of `LONG_STREAM` bytes a stream serve whole frames, those of `MIDDLE_STREAM` nodes, those of `SHORT_STREAM` records.
#define LONG_STREAM 4096
#define MIDDLE_STREAM 256
#define SHORT_STREAM 64

// One table for each byte of eight bytes at a time.
static uint32_t slices[8][256];

// What a checksum becomes after so many zero bytes, by each of its four bytes.
typedef uint32_t zeros_table[4][256];

// The length of a stream, and what its zeros and those of two streams do: the first stream's sum passes two, the second's one.
struct stream {
  size_t length;
  zeros_table once, twice;
};
static struct stream long_stream = {.length = LONG_STREAM};
static struct stream middle_stream = {.length = MIDDLE_STREAM};
static struct stream short_stream = {.length = SHORT_STREAM};

static void prepare_slices(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; bit++) sum = (sum >> 1) ^ ((sum & 1) ? POLYNOMIAL : 0);
    slices[0][byte] = sum;
  }
  for (uint32_t byte = 0; byte < 256; byte++) {
    for (int slice = 1; slice < 8; slice++) {
      uint32_t before = slices[slice - 1][byte];
      slices[slice][byte] = (before >> 8) ^ slices[0][before & 255];
    }
  }
}

// A byte does what it does without its lowest bit, and what that bit does.
static void fill(zeros_table table, const uint32_t of_bit[32]) {
  for (int place = 0; place < 4; place++)
    for (uint32_t byte = 1; byte < 256; byte++)
      table[place][byte] = table[place][byte & (byte - 1)] ^ of_bit[place * 8 + __builtin_ctz(byte)];
}

// The checksum is linear: what zeros do to it is known once it is known for each single bit. What a power of two of them does
// twice, twice as many do. Every program does this when it opens a store, so all tables come from one chain of doublings.
static void prepare_zeros(struct stream *streams[], int count) {
  uint32_t of_bit[32], twice[32];
  for (int bit = 0; bit < 32; bit++) {
    uint32_t sum = (uint32_t)1 << bit;
    of_bit[bit] = (sum >> 8) ^ slices[0][sum & 255];
  }
  for (size_t zeros = 1; zeros <= 2 * LONG_STREAM; zeros *= 2) {
    for (int stream = 0; stream < count; stream++) {
      if (streams[stream]->length == zeros) fill(streams[stream]->once, of_bit);
      if (2 * streams[stream]->length == zeros) fill(streams[stream]->twice, of_bit);
    }
    for (int bit = 0; bit < 32; bit++) {
      twice[bit] = 0;
      for (uint32_t left = of_bit[bit]; left; left &= left - 1) twice[bit] ^= of_bit[__builtin_ctz(left)];
    }
    memcpy(of_bit, twice, sizeof of_bit);
  }
}

static uint64_t load(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static uint32_t by_table(uint32_t sum, const uint8_t *bytes, size_t length) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word = load(bytes) ^ sum;
    sum = slices[7][word & 255] ^ slices[6][word >> 8 & 255] ^ slices[5][word >> 16 & 255] ^
          slices[4][word >> 24 & 255] ^ slices[3][word >> 32 & 255] ^ slices[2][word >> 40 & 255] ^
          slices[1][word >> 48 & 255] ^ slices[0][word >> 56];
  }
#endif
  for (; length; bytes++, length--) sum = (sum >> 8) ^ slices[0][(sum ^ *bytes) & 255];
  return sum;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
#define BY_INSTRUCTION __attribute__((target("sse4.2")))
#define STEP_8(sum, word) _mm_crc32_u64((sum), (word))
#define STEP_4(sum, word) _mm_crc32_u32((uint32_t)(sum), (word))
#define STEP_2(sum, word) _mm_crc32_u16((uint32_t)(sum), (word))
#define STEP_1(sum, byte) _mm_crc32_u8((uint32_t)(sum), (byte))

static int has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#if defined(__APPLE__)
#define BY_INSTRUCTION
static int has_instruction(void) { return 1; }
#elif defined(__linux__)
#include <sys/auxv.h>
#define BY_INSTRUCTION __attribute__((target("crc")))
// HWCAP_CRC32, named by hand because its header is the kernel's.
static int has_instruction(void) { return (getauxval(AT_HWCAP) >> 7) & 1; }
#endif
#if defined(BY_INSTRUCTION)
#define STEP_8(sum, word) __builtin_arm_crc32cd((uint32_t)(sum), (word))
#define STEP_4(sum, word) __builtin_arm_crc32cw((uint32_t)(sum), (word))
#define STEP_2(sum, word) __builtin_arm_crc32ch((uint32_t)(sum), (word))
#define STEP_1(sum, byte) __builtin_arm_crc32cb((uint32_t)(sum), (byte))
#endif
#endif

#if defined(BY_INSTRUCTION)
static uint32_t past_zeros(zeros_table table, uint32_t sum) {
  return table[0][sum & 255] ^ table[1][sum >> 8 & 255] ^ table[2][sum >> 16 & 255] ^ table[3][sum >> 24];
}

BY_INSTRUCTION
static inline uint32_t three_streams(uint32_t sum, const uint8_t **bytes, size_t *length, struct stream *stream, size_t each) {
  const uint8_t *first = *bytes;
  while (*length >= 3 * each) {
    const uint8_t *end = first + each;
    uint64_t a = sum, b = 0, c = 0;
    for (; first < end; first += 8) {
      a = STEP_8(a, load(first));
      b = STEP_8(b, load(first + each));
      c = STEP_8(c, load(first + 2 * each));
    }
    sum = past_zeros(stream->twice, (uint32_t)a) ^ past_zeros(stream->once, (uint32_t)b) ^ (uint32_t)c;
    first += 2 * each;
    *length -= 3 * each;
  }
  *bytes = first;
  return sum;
}

BY_INSTRUCTION
static uint32_t by_instruction(uint32_t sum, const uint8_t *bytes, size_t length) {
  sum = three_streams(sum, &bytes, &length, &long_stream, LONG_STREAM);
  sum = three_streams(sum, &bytes, &length, &middle_stream, MIDDLE_STREAM);
  sum = three_streams(sum, &bytes, &length, &short_stream, SHORT_STREAM);
  uint64_t wide = sum;
  for (; length >= 8; bytes += 8, length -= 8) wide = STEP_8(wide, load(bytes));
  sum = (uint32_t)wide;
  // Fewer than eight are left; each step takes as long, however few bytes it is for.
  if (length & 4) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    sum = STEP_4(sum, word);
    bytes += 4;
  }
  if (length & 2) {
    uint16_t word;
    memcpy(&word, bytes, sizeof word);
    sum = STEP_2(sum, word);
    bytes += 2;
  }
  if (length & 1) sum = STEP_1(sum, *bytes);
  return sum;
}
#endif

typedef uint32_t (*step)(uint32_t sum, const uint8_t *bytes, size_t length);
static _Atomic(step) chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
  prepare_slices();
  step choice = by_table;
#if defined(BY_INSTRUCTION)
  if (has_instruction()) {
    struct stream *streams[] = {&long_stream, &middle_stream, &short_stream};
    prepare_zeros(streams, 3);
    choice = by_instruction;
  }
#endif
  atomic_store_explicit(&chosen, choice, memory_order_release);
}

uint32_t strata_crc32c(uint32_t seed, const void *bytes, size_t length) {
  step run = atomic_load_explicit(&chosen, memory_order_acquire);
  if (!run) {
    pthread_once(&once, prepare);
    run = atomic_load_explicit(&chosen, memory_order_acquire);
  }
  return ~run(~seed, bytes, length);
}

uint32_t strata_crc32c_portable(uint32_t seed, const void *bytes, size_t length) {
  pthread_once(&once, prepare);
  return ~by_table(~seed, bytes, length);
}
