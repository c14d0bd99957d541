// An example builder for tests: its examples are runs of a document's tokens.
#pragma once

#include "base/error.h"
#include "data/preprocess/example_builder.h"
#include "data/preprocess/id_codec.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"

namespace smelt::data {

class RunsBuilder : public ExampleBuilder {
 public:
  explicit RunsBuilder(std::int64_t length) : length_(length) {}

  std::string kind() const override { return "runs"; }
  OrderedJson settings() const override { return {{"run_length", length_}}; }
  std::uint64_t passes() const override { return 2; }
  OrderedJson facts(const ExampleCounts& counts) const override {
    return {{"drawn_tokens", counts[0]}};
  }

  std::unique_ptr<ExampleDrawer> drawer(const DocumentGroup& group,
                                        ExampleCounts& counts) const override {
    struct Drawer final : ExampleDrawer {
      void draw(std::size_t document, std::uint64_t, StreamRandom& random,
                const ExampleSink& take) override {
        const auto [first, last] = group->corpus.documents()[document];
        auto ids = group->corpus.ids(group->corpus.tokens(first, last));
        counts->resize(1);
        counts->front() += ids.size();
        for (std::size_t size; !ids.empty(); ids = ids.subspan(size)) {
          size = std::min<std::size_t>(ids.size(),
                                       static_cast<std::size_t>(random.randint(1, length)));
          take({reinterpret_cast<const char*>(ids.data()), size * sizeof(std::int32_t)});
        }
      }
      const DocumentGroup* group;
      ExampleCounts* counts;
      std::int64_t length;
    };
    auto drawer = std::make_unique<Drawer>();
    drawer->group = &group;
    drawer->counts = &counts;
    drawer->length = length_;
    return drawer;
  }

  std::unique_ptr<ExampleEncoder> encoder() const override {
    struct Encoder final : ExampleEncoder {
      std::uint64_t encode(std::string_view example, std::string& out) override {
        ids.clear();
        while (!example.empty()) ids.push_back(take_value<std::int32_t>(example));
        writer.integers("ids", ids);
        io::append_record(out, writer.take());
        return ids.size();
      }
      std::vector<std::int32_t> ids;
      io::ExampleWriter writer;
    };
    return std::make_unique<Encoder>();
  }

 private:
  std::int64_t length_;
};

}  // namespace smelt::data
