/* C interface of smelt: tokenizers and training batches, without devices. libsmelt.so implements
 * it.
 *
 * Rules:
 *  - Functions that can fail return SMELT_OK or one of the other codes. smelt_error_text() and
 *    smelt_error_hint() then describe the error of the calling thread's last failed call.
 *  - All text is UTF-8. Texts of a batch lie behind each other in one buffer: text i is the bytes
 *    [starts[i], starts[i + 1]), so `starts` has one element more than there are texts.
 *  - Who receives a handle frees it with the function of its type. Freeing NULL does nothing.
 *  - A `const` handle may be used by several threads at the same time.
 *  - No function keeps a pointer of the caller, installs a signal handler, prints, or leaves a
 *    thread running. So a process may fork between two calls.
 *  - Options are a JSON object, or NULL for the defaults. An unknown option is SMELT_USAGE.
 *
 * docs/reference/c-api.md has an example. */
#ifndef SMELT_H
#define SMELT_H

#include <stddef.h>
#include <stdint.h>

#define SMELT_ABI 1
#define SMELT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Results of functions; the same numbers as the program's exit codes. */
enum {
  SMELT_OK = 0,
  SMELT_SYSTEM = 1,  /* the disk, the network or memory failed */
  SMELT_USAGE = 2,   /* an argument or a file is wrong */
  SMELT_BUG = 70,    /* a bug in smelt */
  SMELT_STOPPED = 75 /* smelt_stop_raise() was called */
};

/* Element types of arrays. */
enum { SMELT_I32 = 1, SMELT_I64 = 2, SMELT_F32 = 3, SMELT_U8 = 4 };

/* Returns the version of this interface. It equals SMELT_ABI if the library fits this header. */
SMELT_API uint32_t smelt_abi(void);
/* Returns the version of smelt, such as "0.1.0". */
SMELT_API const char* smelt_version(void);

/* Return the message and the hint of the last failed call on this thread. Valid until the thread's
 * next failed call. The hint is "" if there is none. */
SMELT_API const char* smelt_error_text(void);
SMELT_API const char* smelt_error_hint(void);

/* Sets the function that receives log messages, for all threads; NULL drops them, as at the
 * beginning. `level`: 0 debug, 1 info, 2 warning, 3 error. `text` has `bytes` bytes without a
 * terminating zero and is valid during the call. Other threads may call it at the same time. */
typedef void (*smelt_log_receiver)(void* context, int level, const char* text, size_t bytes);
SMELT_API void smelt_on_log(smelt_log_receiver receiver, void* context);

/* A flag with which another thread ends a long call. */
typedef struct smelt_stop smelt_stop;
SMELT_API smelt_stop* smelt_stop_new(void); /* NULL if there is no memory */
SMELT_API void smelt_stop_raise(smelt_stop* stop);
SMELT_API void smelt_stop_free(smelt_stop* stop);

/* Named arrays that a function returns. */
typedef struct smelt_arrays smelt_arrays;
typedef struct {
  const char* name;
  const void* data; /* row-major, owned by the smelt_arrays */
  int32_t dtype;    /* SMELT_I32, ... */
  int32_t rank;
  const int64_t* shape; /* `rank` sizes */
} smelt_array;
/* Returns the array with this index, or NULL if there are not so many. */
SMELT_API const smelt_array* smelt_arrays_at(const smelt_arrays* arrays, int64_t index);
SMELT_API void smelt_arrays_free(smelt_arrays* arrays);

/* ---- tokenizers ---- */

typedef struct smelt_tokenizer smelt_tokenizer;
/* Reads vocab.txt, tokenizer.json, vocab.json with merges.txt or a SentencePiece model, or the one
 * of them that is in a folder. Options: "lower_case" and "strip_accents" (booleans) for a vocab.txt
 * without stored settings. */
SMELT_API int smelt_tokenizer_open(const char* path, const char* options, smelt_tokenizer** out);
SMELT_API void smelt_tokenizer_free(smelt_tokenizer* tokenizer);

/* Returns one array "json" (u8) with {"kind": "wordpiece" | "subword" | "sentencepiece", "size",
 * "path", "unknown", "pad", "cls", "sep", "mask", "end"}. Ids that the vocabulary lacks are null.
 */
SMELT_API int smelt_tokenizer_describe(const smelt_tokenizer* tokenizer, smelt_arrays** out);
/* Returns all tokens by id as "text" (u8 [bytes]) and "starts" (i64 [size + 1]). */
SMELT_API int smelt_tokenizer_tokens(const smelt_tokenizer* tokenizer, smelt_arrays** out);

/* Converts texts to token ids. Returns "ids" (i32 [tokens]) and "starts" (i64 [rows + 1]); row i
 * has the ids [starts[i], starts[i + 1]). Options:
 *   "special_tokens"  add [CLS] and [SEP], or the </s> of a T5 (false)
 *   "pairs"           texts 2i and 2i + 1 are row i; adds "segments" (i32 [tokens]: 0 or 1; only 0
 *                     for a RoBERTa) (false)
 *   "max_length"      tokens to which a row is truncated, special tokens included; a pair loses
 *                     tokens of its longer text first; 0: no limit (0)
 *   "offsets"         add "offsets" (i32 [tokens, 2]): first character and the one after the last
 *                     in the text; 0, 0 for special tokens (false)
 *   "threads"         0: all cores that the process may use (0)
 * `stop` may be NULL. */
SMELT_API int smelt_encode(const smelt_tokenizer* tokenizer, const char* utf8,
                           const int64_t* starts, int64_t texts, const char* options,
                           const smelt_stop* stop, smelt_arrays** out);

/* Converts rows of ids to texts: row i has the ids [starts[i], starts[i + 1]). Returns "text" (u8
 * [bytes]) and "starts" (i64 [rows + 1]). Option "skip_special_tokens": leave out [PAD], [CLS],
 * [SEP], [MASK] and </s> (false). An id that the vocabulary lacks is SMELT_USAGE. */
SMELT_API int smelt_decode(const smelt_tokenizer* tokenizer, const int32_t* ids,
                           const int64_t* starts, int64_t rows, const char* options,
                           smelt_arrays** out);

/* ---- training batches ---- */

typedef struct smelt_batches smelt_batches;
/* Opens TFRecord files, token stores or snapshots. Options, of which "input" is required:
 *   "input"     files and patterns, separated by commas
 *   "seed"      seed of the shuffle, as train.seed of a recipe (12345)
 *   "order"     "training": shuffled, without an end; "file": as stored, starting over after the
 *               last one ("training")
 *   "features"  names of the features to read; default: all numeric features of the first record
 *   "lengths"   lengths that batches may have, ascending, with "tokens", the name of the feature
 *               that is 0 for padding, as data.lengths of a recipe
 *   "window"    for token stores: tokens of an example (512)
 *   "host", "hosts"   the part of each batch that this host of several reads (0 of 1) */
SMELT_API int smelt_batches_open(const char* options, smelt_batches** out);
SMELT_API void smelt_batches_free(smelt_batches* batches);
/* Returns one array "json" (u8) with {"examples", "epoch_examples", "features": [{"name", "dtype",
 * "shape"}], "files", "description"}. */
SMELT_API int smelt_batches_describe(const smelt_batches* batches, smelt_arrays** out);
/* Returns batch `step` (0 is the first) of `rows` examples: one array per feature, with the rows as
 * first dimension. A batch depends only on files, seed, step and rows. `stop` may be NULL. */
SMELT_API int smelt_batch(const smelt_batches* batches, uint64_t step, int64_t rows,
                          const smelt_stop* stop, smelt_arrays** out);

#ifdef __cplusplus
}
#endif

#endif
