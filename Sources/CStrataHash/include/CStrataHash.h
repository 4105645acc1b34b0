#ifndef STRATA_CHASH_H
#define STRATA_CHASH_H

#include <stddef.h>
#include <stdint.h>

/// The CRC-32C (Castagnoli) of `length` bytes, continuing from `seed`.
///
/// `seed` is 0 to begin, or the result for the bytes that come before: hashing in pieces gives what hashing at once
/// gives. Uses the processor's instruction where it has one (SSE 4.2, ARMv8 CRC), found out at the first call, in three
/// interleaved streams for long runs; a table otherwise. May be called from any thread.
uint32_t strata_crc32c(uint32_t seed, const void *bytes, size_t length);

/// The same, always by table. For tests, which compare the two.
uint32_t strata_crc32c_portable(uint32_t seed, const void *bytes, size_t length);

#endif
