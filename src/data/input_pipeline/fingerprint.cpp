#include "data/input_pipeline/fingerprint.h"

#include "base/json.h"
#include "base/parallel.h"
#include "data/input_pipeline/record_index.h"
#include "io/formats/crc32c.h"

namespace smelt::data {

Json data_fingerprint(const ExampleSource& source) {
  constexpr std::uint64_t kSample = 64;
  std::vector<Batch> sample(kSample);
  run_each(kSample, kSideBySide, [&](std::size_t i) {
    sample[i] = source.batch_in_order(i * (source.size() - 1) / (kSample - 1), 1);
  });
  std::uint32_t sum = 0;
  for (const Batch& record : sample)
    for (const HostArray& array : record.arrays)
      sum =
          io::crc32c({reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()}, sum);
  Json out = source.layout();
  out["records"] = source.size();
  out["crc32c"] = sum;
  return out;
}

}  // namespace smelt::data
