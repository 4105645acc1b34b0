#ifndef STRATA_CBLOCK_H
#define STRATA_CBLOCK_H

#include <stddef.h>
#include <stdint.h>

// Blocks in the LZ4 block format, written from its published specification. A block may refer to a dictionary, as if the dictionary's bytes
// came directly before the block's. The functions allocate nothing and may be called from any thread.

/// The greatest length of a dictionary, which is the greatest distance that the format can name.
#define STRATA_BLOCK_DICTIONARY 65535

/// The places of a dictionary at which given bytes stand: memory of `strata_block_index_size()` bytes.
typedef struct strata_block_index strata_block_index;

size_t strata_block_index_size(void);

/// Fills the index of a dictionary of at most `STRATA_BLOCK_DICTIONARY` bytes.
void strata_block_index_make(strata_block_index *index, const uint8_t *dictionary, size_t length);

/// Compresses bytes. Returns the length of the block, or 0 if it is longer than `capacity`. The same bytes, dictionary and effort give the
/// same block on every machine.
///
/// `index` is that of the dictionary; null if there is none. `effort`: the number of earlier places that are compared with each place, at
/// least 1. From 2 on, a match is put off by a byte if a longer one begins there.
size_t strata_block_compress(
    const strata_block_index *index, const uint8_t *dictionary, size_t dictionary_length, const uint8_t *source, size_t length,
    uint8_t *target, size_t capacity, unsigned effort);

/// Decompresses a block that must have exactly `length` bytes. Returns 1, or 0 if it is malformed or has another length. Reads nothing
/// outside the block and the dictionary, and writes nothing outside the `length` bytes of the target.
int strata_block_decompress(
    const uint8_t *dictionary, size_t dictionary_length, const uint8_t *block, size_t block_length, uint8_t *target, size_t length);

#endif
