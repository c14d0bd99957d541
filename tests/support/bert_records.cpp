#include "support/bert_records.h"

#include "format/example.h"
#include "format/tfrecord.h"
#include "store/file.h"

namespace smelt {

TestExample::TestExample(int number)
    : input_ids{2, 10 + number % 80, 4, 3, 11, 3, 0, 0},
      input_mask{1, 1, 1, 1, 1, 1, 0, 0},
      segment_ids{0, 0, 0, 0, 1, 1, 0, 0},
      masked_lm_positions{2, 0},
      masked_lm_ids{number % 100, 0},
      masked_lm_weights{1, 0},
      next_sentence_labels{number % 2} {}

std::string TestExample::serialized() const {
  ExampleWriter writer;
  writer.integers("input_ids", input_ids);
  writer.integers("input_mask", input_mask);
  writer.integers("segment_ids", segment_ids);
  writer.integers("masked_lm_positions", masked_lm_positions);
  writer.integers("masked_lm_ids", masked_lm_ids);
  writer.reals("masked_lm_weights", masked_lm_weights);
  writer.integers("next_sentence_labels", next_sentence_labels);
  return writer.take();
}

void write_test_examples(const std::string& path, int first, int count,
                         const std::function<void(int, TestExample&)>& change) {
  std::string bytes;
  for (int number = first; number < first + count; ++number) {
    TestExample example(number);
    if (change) change(number, example);
    append_record(bytes, example.serialized());
  }
  write_file(path, bytes);
}

}  // namespace smelt
