#include "data/input_pipeline/window_cuts.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "data/input_pipeline/record_index.h"

namespace smelt::data {
namespace {

std::uint64_t trained_windows(std::uint64_t tokens, std::uint64_t length) {
  return tokens < length ? 0 : std::max<std::uint64_t>(1, (tokens - length + 1) / length);
}

template <class Count>
std::vector<std::uint64_t> add_up(const TokenFiles& tokens, const Count& count) {
  std::vector<std::uint64_t> sums{0};
  for (std::size_t file = 0; file < tokens.count(); ++file)
    sums.push_back(sums.back() + count(file));
  if (sums.back() == 0) {
    std::uint64_t longest = 0;
    for (std::size_t file = 0; file < tokens.count(); ++file)
      longest = std::max(longest, tokens.tokens(file));
    throw UsageError(str(join(tokens.paths(), ", "),
                         ": too short for a window: the longest file has ", longest, " tokens"),
                     "give longer files, or shorten the model's sequences");
  }
  return sums;
}

// Returns the index of the part that contains element `number`, given the number of elements before
// each part.
std::size_t part_of_sums(const std::vector<std::uint64_t>& before, std::uint64_t number) {
  return static_cast<std::size_t>(std::ranges::upper_bound(before, number) - before.begin()) - 1;
}

class AcrossDocuments : public WindowCuts {
 public:
  AcrossDocuments(const TokenFiles& files, std::uint64_t length, std::uint64_t seed)
      : files_(files),
        length_(length),
        trained_(
            add_up(files, [&](std::size_t f) { return trained_windows(files.tokens(f), length); })),
        in_order_(add_up(files, [&](std::size_t f) { return files.tokens(f) / length; })),
        skip_key_(random_key(seed, "skips of files")) {}

  std::uint64_t trained() const override { return trained_.back(); }
  std::uint64_t in_order() const override { return in_order_.back(); }
  WindowPlace trained(std::uint64_t window, std::uint64_t epoch) const override {
    const std::size_t file = part_of_sums(trained_, window);
    const auto bits = philox(skip_key_, epoch, file);
    const std::uint64_t skip = (std::uint64_t{bits[1]} << 32 | bits[0]) % skips(file);
    return {file, (window - trained_[file]) * length_ + skip, length_};
  }
  WindowPlace in_order(std::uint64_t window) const override {
    const std::size_t file = part_of_sums(in_order_, window);
    return {file, (window - in_order_[file]) * length_, length_};
  }
  WindowPlace reach(std::uint64_t window) const override {
    const std::size_t file = part_of_sums(trained_, window);
    return {file, (window - trained_[file]) * length_, length_ + skips(file) - 1};
  }

 private:
  // Returns the number of values from which a file's random skip is drawn: 0, 1, …
  std::uint64_t skips(std::size_t file) const {
    const std::uint64_t windows = trained_[file + 1] - trained_[file];
    return std::min(length_, files_.tokens(file) - windows * length_ + 1);
  }

  const TokenFiles& files_;
  std::uint64_t length_;
  // Number of windows before each file, and the total.
  std::vector<std::uint64_t> trained_, in_order_;
  std::uint64_t skip_key_;
};

class WithinDocuments : public WindowCuts {
 public:
  WithinDocuments(const TokenFiles& files, std::uint64_t length)
      : length_(length), documents_(files.count()) {
    run_each(files.count(), kSideBySide,
             [&](std::size_t file) { documents_[file] = Documents(files, file, length); });
    windows_ = add_up(files, [&](std::size_t file) { return documents_[file].windows.back(); });
  }

  std::uint64_t trained() const override { return windows_.back(); }
  std::uint64_t in_order() const override { return windows_.back(); }
  WindowPlace trained(std::uint64_t window, std::uint64_t) const override {
    return in_order(window);
  }
  WindowPlace in_order(std::uint64_t window) const override {
    const std::size_t file = part_of_sums(windows_, window);
    const Documents& all = documents_[file];
    const std::uint64_t in_file = window - windows_[file];
    const std::size_t document = part_of_sums(all.windows, in_file);
    const std::uint64_t first = all.begins[document] + (in_file - all.windows[document]) * length_;
    return {file, first, std::min(length_, all.begins[document + 1] - first)};
  }
  WindowPlace reach(std::uint64_t window) const override { return in_order(window); }

 private:
  // The documents of one file. Tokens after the last document end form another document.
  struct Documents {
    // Numbers of tokens and of windows before each document, and the totals.
    std::vector<std::uint64_t> begins{0}, windows{0};

    Documents() = default;
    Documents(const TokenFiles& files, std::size_t file, std::uint64_t length)
        : begins(files.document_ends(file)) {
      if (begins.empty() && files.tokens(file) > 0)
        throw UsageError(str(files.paths()[file], ": does not store where documents end"),
                         "set data.documents to packed, or make a token store of the text with "
                         "smelt data tokens");
      if (begins.empty() || begins.back() < files.tokens(file))
        begins.push_back(files.tokens(file));
      begins.insert(begins.begin(), 0);
      for (std::size_t i = 0; i + 1 < begins.size(); ++i)
        windows.push_back(windows.back() + (begins[i + 1] - begins[i] + length - 1) / length);
    }
  };

  std::uint64_t length_;
  std::vector<Documents> documents_;
  std::vector<std::uint64_t> windows_;  // number of windows before each file, and the total
};

}  // namespace

std::unique_ptr<WindowCuts> windows_across_documents(const TokenFiles& files, std::uint64_t length,
                                                     std::uint64_t seed) {
  return std::make_unique<AcrossDocuments>(files, length, seed);
}

std::unique_ptr<WindowCuts> windows_within_documents(const TokenFiles& files,
                                                     std::uint64_t length) {
  return std::make_unique<WithinDocuments>(files, length);
}

}  // namespace smelt::data
