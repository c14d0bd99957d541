#include "examples/text_to_text_examples.h"

#include <atomic>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/crc32c.h"
#include "format/example.h"
#include "format/tfrecord.h"
#include "store/path.h"

namespace smelt {
namespace {

// Whether it was cut.
bool fit(std::vector<std::int32_t>& ids, std::int64_t length) {
  const bool is_long = std::ssize(ids) > length;
  const std::int32_t end = ids.back();
  ids.resize(static_cast<std::size_t>(length));
  if (is_long) ids.back() = end;
  return is_long;
}

}  // namespace

TextToTextSummary write_text_to_text(const TextToTextExamplesJob& job) {
  const auto wanted = wanted_rows(job.rows, job.what, job.split,
                                  [](const LabelledRow&, const std::string&) { return 0; });
  std::atomic<std::uint64_t> cut_targets = 0;
  RowRecords records(job.output, [&](const LabelledRow& row) {
    auto inputs = job.encode(job.prefix + row.text), targets = job.encode(row.label);
    EncodedRow out{.record = {}, .tokens = inputs.size()};
    const bool long_target = fit(targets, job.targets_length);
    out.is_cut = fit(inputs, job.inputs_length) || long_target;
    if (long_target) ++cut_targets;
    ExampleWriter example;
    example.integers("inputs", inputs);
    example.integers("targets", targets);
    append_record(out.record, example.take());
    return std::vector{std::move(out)};
  });
  auto rows = rows_to_write(job.rows, job.what, job.split);
  std::size_t number = 0;
  for (LabelledRow row; rows.next(row); ++number)
    if (!job.split || wanted.at(number)) records.add(std::move(row));
  TextToTextSummary out;
  static_cast<RowCounts&>(out) = records.finish();
  out.cut_targets = cut_targets;
  if (out.examples == 0)
    throw UsageError(str(job.what, ": ", job.rows.input, " gives no example"),
                     "give rows of texts and answers");
  const nlohmann::ordered_json described{
      {"kind", "text_to_text"},
      {"files", {path_name(job.output)}},
      {"examples", out.examples},
      {"inputs_length", job.inputs_length},
      {"targets_length", job.targets_length},
      {"prefix", job.prefix},
      {"cut", out.cut},
      {"cut_targets", out.cut_targets},
      {"vocabulary",
       {{"file", job.vocab}, {"crc32c", crc32c(read_file(job.vocab, kSmallFileBytes))}}}};
  write_file(job.output + ".json", described.dump(2) + "\n");
  records.commit();
  return out;
}

}  // namespace smelt
