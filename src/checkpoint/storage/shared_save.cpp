#include "checkpoint/storage/shared_save.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "checkpoint/storage/layout.h"
#include "checkpoint/storage/save_parts.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::checkpoint {
namespace {

constexpr const char* kError = "error";

// Thrown if a gather itself fails: the processes can no longer agree on an outcome.
struct GatherFailed {
  std::exception_ptr why;
};

class SharedSave {
 public:
  SharedSave(std::int64_t step, const SlicedTensors& own, const std::vector<OwnedSlice>& held,
             const Json& state, const SaveShare& share, const SaveOptions& options)
      : step_(step),
        own_(own),
        held_(held),
        state_(state),
        share_(share),
        options_(options),
        plan_(plan_files(held, options.shard_bytes)) {}

  void lead(const std::string& model_dir);
  void follow();

 private:
  Json gather(const char* what, const Json& mine) const;
  Json write_own(const std::string& folder) const;
  void require_written(const std::string& folder, std::size_t rank, const Json& line) const;
  Json lines_of_all(const std::string& folder) const;
  void write_rest(const io::OutputDirectory& directory, Json lines) const;
  io::TensorMap content(const PlannedFile& file) const;

  std::int64_t step_;
  const SlicedTensors& own_;
  const std::vector<OwnedSlice>& held_;
  const Json& state_;
  const SaveShare& share_;
  const SaveOptions& options_;
  std::vector<PlannedFile> plan_;
};

// Returns the payloads of all processes by rank.
Json SharedSave::gather(const char* what, const Json& mine) const {
  Json out = Json::array();
  try {
    for (const std::string& payload : share_.gather(
             str(share_.key, "/", what), mine.dump(-1, ' ', false, JsonInvalidUtf8::replace)))
      out.push_back(Json::parse(payload));
  } catch (...) {
    throw GatherFailed{std::current_exception()};
  }
  return out;
}

io::TensorMap SharedSave::content(const PlannedFile& file) const {
  io::TensorMap out;
  for (const std::size_t i : file.slices) {
    const OwnedSlice& wanted = held_[i];
    const auto tensor = own_.find(wanted.tensor);
    CHECK(tensor != own_.end(), wanted.tensor);
    const auto slice = std::ranges::find(tensor->second.slices, wanted.begin, &TensorSlice::begin);
    CHECK(slice != tensor->second.slices.end() && slice->part.shape.dims == wanted.dims,
          wanted.name());
    out.emplace(wanted.name(), slice->part);
  }
  return out;
}

// Writes the files that the plan assigns to this process. Returns an object with their manifest
// entries in "files", or with the error message in kError if writing fails.
Json SharedSave::write_own(const std::string& folder) const try {
  std::vector<std::size_t> mine;
  for (std::size_t i = 0; i < plan_.size(); ++i)
    if (plan_[i].writer == share_.process) mine.push_back(i);
  std::vector<Json> lines(mine.size());
  run_each(mine.size(), kFilesAtOnce, [&](std::size_t n) {
    const std::string name = shard_name(mine[n], plan_.size());
    lines[n] = write_shard(io::join_path(folder, name), name, content(plan_[mine[n]]));
  });
  return {{"files", lines}};
} catch (const BugError&) {
  throw;
} catch (const Error& error) {
  return {{kError, error.what()}};
}

// Waits until a file of another host is visible to rank 0. Throws SystemError if it does not appear
// in time.
void SharedSave::require_written(const std::string& folder, std::size_t rank,
                                 const Json& line) const {
  const std::string path = io::join_path(folder, line.at("name").get<std::string>());
  const auto size = line.at("size_bytes").get<std::uint64_t>();
  const auto begin = Clock::now();
  std::optional<io::FileStatus> status;
  while (!(status = io::file_status(path)) || status->size != size) {
    if (seconds_since(begin) > share_.seen_seconds)
      throw SystemError(
          str("host ", rank, " wrote ", path, ", ", size, " bytes; host 0 sees ",
              status ? str(status->size, " bytes") : "no such file", " there"),
          "use a folder that all hosts share: gs://…, s3://…, or a network filesystem");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Json SharedSave::lines_of_all(const std::string& folder) const {
  const Json answers = gather("written", write_own(folder));
  std::vector<Json> lines;
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    if (answers[rank].contains(kError))
      throw SystemError(str("host ", rank, ": ", answers[rank][kError].string()));
    for (const Json& line : answers[rank].at("files")) {
      if (share_.leads) require_written(folder, rank, line);
      lines.push_back(line);
    }
  }
  std::ranges::sort(lines, {}, [](const Json& line) { return line.at("name").get<std::string>(); });
  CHECK(lines.size() == plan_.size(), lines.size(), " files, expected ", plan_.size());
  return lines;
}

void SharedSave::write_rest(const io::OutputDirectory& directory, Json lines) const {
  PieceFiles files;
  SlicedTensors tensors;  // shapes and positions only
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    CHECK(lines[i].at("name") == shard_name(i, plan_.size()));
    for (const std::size_t slice : plan_[i].slices)
      files.emplace(held_[slice].name(), lines[i].at("name"));
  }
  for (const OwnedSlice& slice : held_) {
    SlicedTensor& tensor = tensors[slice.tensor];
    tensor.shape = slice.whole;
    tensor.slices.push_back({slice.begin, {{slice.whole.dtype, slice.dims}, {}}});
  }
  write_manifest(directory, step_, tensors, std::move(lines), files, state_, options_);
}

void SharedSave::lead(const std::string& model_dir) {
  Json outcome = Json::object();
  bool begun = false;
  try {
    publish_checkpoint(model_dir, step_, options_, [&](const io::OutputDirectory& directory) {
      begun = true;
      const std::string folder = io::parent_path(directory.file(kManifestFile));
      (void)gather("begin", {{"folder", folder}});
      write_rest(directory, lines_of_all(folder));
    });
  } catch (const BugError&) {
    throw;
  } catch (const Error& error) {
    outcome[kError] = error.what();
  }
  if (!begun) (void)gather("begin", outcome);
  (void)gather("done", outcome);
  if (outcome.contains(kError)) throw SystemError(outcome[kError].get<std::string>());
}

// Returns the first value of `field` in the payloads, or nullopt if no payload has it.
std::optional<Json> field_of(const Json& answers, const char* field) {
  for (const Json& answer : answers)
    if (answer.contains(field)) return answer[field];
  return std::nullopt;
}

void SharedSave::follow() {
  if (const auto folder = field_of(gather("begin", Json::object()), "folder")) try {
      (void)lines_of_all(folder->get<std::string>());
    } catch (const BugError&) {
      throw;
    } catch (const Error&) {  // rank 0 has seen the same error and reports it
    }
  if (const auto error = field_of(gather("done", Json::object()), kError))
    throw SystemError(error->get<std::string>());
}

}  // namespace

void save_shared_checkpoint(const std::string& model_dir, std::int64_t step,
                            const SlicedTensors& own, const std::vector<OwnedSlice>& held,
                            const Json& state, const SaveShare& share,
                            const SaveOptions& options) try {
  CHECK(options.shard_bytes > 0);
  SharedSave save(step, own, held, state, share, options);
  if (share.leads)
    save.lead(model_dir);
  else
    save.follow();
} catch (const GatherFailed& failed) {
  std::rethrow_exception(failed.why);
}

void run_on_rank0(const SaveShare& share, const std::function<void()>& work) {
  std::string failure;
  if (share.leads) try {
      work();
    } catch (const BugError&) {
      throw;
    } catch (const Error& error) {
      failure = error.what();
    }
  for (const std::string& said : share.gather(share.key + "/done", failure))
    if (!said.empty()) throw SystemError(said);
}

}  // namespace smelt::checkpoint
