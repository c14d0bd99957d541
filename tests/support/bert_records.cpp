#include "support/bert_records.h"

#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"

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
  io::ExampleWriter writer;
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
    io::append_record(bytes, example.serialized());
  }
  io::write_file(path, bytes);
}

io::Features test_features() {
  const auto integers = [](std::string name, std::int64_t count, std::int64_t limit,
                           std::string limit_name) {
    return io::Feature{
        std::move(name), compiler::DType::s32, {count}, limit, std::move(limit_name)};
  };
  return {integers("input_ids", 8, 100, "vocab_size"),
          integers("input_mask", 8, 2, "a mask of"),
          integers("segment_ids", 8, 2, "type_vocab_size"),
          integers("masked_lm_positions", 2, 8, "seq_length"),
          integers("masked_lm_ids", 2, 100, "vocab_size"),
          {.name = "masked_lm_weights", .dtype = compiler::DType::f32, .row = {2}},
          integers("next_sentence_labels", 1, 2, "labels of")};
}

std::vector<std::byte> values_of(const data::Batch& batch) {
  std::vector<std::byte> out;
  for (const data::HostArray& array : batch.arrays)
    out.insert(out.end(), array.bytes.begin(), array.bytes.end());
  return out;
}

}  // namespace smelt
