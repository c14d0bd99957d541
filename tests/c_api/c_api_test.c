/* The C interface as a C program uses it: c_api_test VOCAB RECORDS. VOCAB is a vocab.txt with "cat" = 5 and "dog" = 6,
 * RECORDS a file of BERT examples. Prints what differs and exits with 1. */
#include <smelt.h>
#include <stdio.h>
#include <string.h>

static int faults = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  faults++;
  printf("FAILED: %s (%s / %s)\n", what, smelt_error_text(), smelt_error_hint());
}

static const smelt_array* named(const smelt_arrays* arrays, const char* name) {
  const smelt_array* array;
  for (int64_t i = 0; (array = smelt_arrays_at(arrays, i)) != NULL; i++)
    if (strcmp(array->name, name) == 0) return array;
  return NULL;
}

static void check_errors(smelt_tokenizer* tokenizer) {
  smelt_tokenizer* none = NULL;
  smelt_arrays* out = NULL;
  const int64_t descending[] = {0, 3, 2};
  const int32_t unknown_id[] = {1000000};
  const int64_t one[] = {0, 1};
  expect(smelt_tokenizer_open("no-such-file", NULL, &none) == SMELT_USAGE && none == NULL, "missing file");
  expect(strstr(smelt_error_text(), "no-such-file") != NULL, "the message names the file");
  expect(smelt_error_hint()[0] != 0, "the error has a hint");
  expect(smelt_tokenizer_open(NULL, NULL, &none) == SMELT_USAGE, "NULL path");
  expect(strcmp(smelt_error_text(), "path is NULL") == 0, "message of a NULL path");
  expect(smelt_encode(tokenizer, "cat", one, 1, "{\"max_lenght\": 3}", NULL, &out) == SMELT_USAGE, "unknown option");
  expect(strcmp(smelt_error_hint(), "did you mean 'max_length'?") == 0, "hint of an unknown option");
  expect(smelt_encode(tokenizer, "cat", one, 1, "[]", NULL, &out) == SMELT_USAGE, "options that are no object");
  expect(smelt_encode(tokenizer, "cat", descending, 2, NULL, NULL, &out) == SMELT_USAGE, "descending starts");
  expect(smelt_encode(tokenizer, "cat", one, -1, NULL, NULL, &out) == SMELT_USAGE, "negative number of texts");
  expect(smelt_encode(tokenizer, "c", one, 1, "{\"special_tokens\": true, \"max_length\": 2}", NULL, &out) == SMELT_USAGE,
         "max_length without room");
  expect(smelt_encode(tokenizer, "c", one, 1, "{\"pairs\": true}", NULL, &out) == SMELT_USAGE, "half a pair");
  expect(smelt_decode(tokenizer, unknown_id, one, 1, NULL, &out) == SMELT_USAGE, "an id that is too large");
  expect(out == NULL, "errors return nothing");
}

static void check_encode(smelt_tokenizer* tokenizer) {
  const int64_t starts[] = {0, 3, 10, 10};
  smelt_arrays *out = NULL, *text = NULL;
  smelt_stop* stop = smelt_stop_new();
  expect(smelt_encode(tokenizer, "catdog cat", starts, 3, "{\"special_tokens\": true, \"offsets\": true}", stop, &out) == SMELT_OK,
         "encode");
  const smelt_array *ids = named(out, "ids"), *rows = named(out, "starts"), *offsets = named(out, "offsets");
  const int32_t want[] = {2, 5, 3, 2, 6, 5, 3, 2, 3};
  const int64_t want_rows[] = {0, 3, 7, 9};
  expect(ids && ids->dtype == SMELT_I32 && ids->rank == 1 && ids->shape[0] == 9, "shape of ids");
  expect(ids && memcmp(ids->data, want, sizeof want) == 0, "ids");
  expect(rows && rows->dtype == SMELT_I64 && memcmp(rows->data, want_rows, sizeof want_rows) == 0, "starts");
  expect(offsets && offsets->rank == 2 && offsets->shape[1] == 2, "shape of offsets");
  expect(offsets && ((const int32_t*)offsets->data)[10] == 4 && ((const int32_t*)offsets->data)[11] == 7, "offsets");
  expect(named(out, "segments") == NULL && smelt_arrays_at(out, -1) == NULL, "no other arrays");
  if (ids && rows)
    expect(smelt_decode(tokenizer, ids->data, rows->data, 3, "{\"skip_special_tokens\": true}", &text) == SMELT_OK, "decode");
  const smelt_array* bytes = named(text, "text");
  expect(bytes && bytes->shape[0] == 10 && memcmp(bytes->data, "catdog cat", 10) == 0, "decoded text");
  smelt_arrays_free(out);
  smelt_arrays_free(text);
  smelt_stop_raise(stop);
  out = NULL;
  expect(smelt_encode(tokenizer, "catdog cat", starts, 3, NULL, stop, &out) == SMELT_STOPPED && out == NULL, "stopped");
  smelt_stop_free(stop);
}

static void check_batches(const char* records) {
  char options[4096];
  smelt_batches* batches = NULL;
  smelt_arrays *out = NULL, *facts = NULL;
  snprintf(options, sizeof options, "{\"input\": \"%s\", \"seed\": 1}", records);
  expect(smelt_batches_open(options, &batches) == SMELT_OK, "open batches");
  expect(smelt_batches_describe(batches, &facts) == SMELT_OK && named(facts, "json") != NULL, "describe batches");
  expect(smelt_batch(batches, 3, 4, NULL, &out) == SMELT_OK, "batch");
  const smelt_array* ids = named(out, "input_ids");
  expect(ids && ids->dtype == SMELT_I32 && ids->rank == 2 && ids->shape[0] == 4 && ids->shape[1] == 8, "shape of a batch");
  expect(named(out, "masked_lm_weights") && named(out, "masked_lm_weights")->dtype == SMELT_F32, "float feature");
  smelt_arrays_free(out);
  out = NULL;
  expect(smelt_batch(batches, 0, 0, NULL, &out) == SMELT_USAGE && out == NULL, "no rows");
  smelt_arrays_free(facts);
  smelt_batches_free(batches);
  batches = NULL;
  expect(smelt_batches_open("{}", &batches) == SMELT_USAGE, "no input");
  expect(strstr(smelt_error_text(), "input is missing") != NULL, "message without input");
  snprintf(options, sizeof options, "{\"input\": \"%s\", \"features\": [\"ids\"]}", records);
  expect(smelt_batches_open(options, &batches) == SMELT_USAGE, "unknown feature");
  expect(strstr(smelt_error_hint(), "input_ids") != NULL, "hint of an unknown feature");
  snprintf(options, sizeof options, "{\"input\": \"%s\", \"window\": 8}", records);
  expect(smelt_batches_open(options, &batches) == SMELT_USAGE && batches == NULL, "window of records");
}

int main(int argc, char** argv) {
  smelt_tokenizer* tokenizer = NULL;
  if (argc != 3) return 2;
  expect(smelt_abi() == SMELT_ABI, "the library has the header's ABI");
  expect(smelt_tokenizer_open(argv[1], "{\"lower_case\": true}", &tokenizer) == SMELT_OK, "open");
  check_errors(tokenizer);
  check_encode(tokenizer);
  check_batches(argv[2]);
  smelt_tokenizer_free(tokenizer);
  smelt_tokenizer_free(NULL);
  smelt_batches_free(NULL);
  smelt_arrays_free(NULL);
  smelt_stop_free(NULL);
  return faults > 0;
}
