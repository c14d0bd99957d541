// TensorFlow's file "checkpoint", a text proto (CheckpointState) that lists a run's checkpoints and
// names the latest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::io {

struct CheckpointState {
  std::string
      newest;  // path of the latest checkpoint, usually relative to the file's folder; may be empty
  std::vector<std::string> all;  // paths from the oldest to the newest
};

// Parses the file. Throws UsageError, in which `origin` names the file, if it is not a text proto.
// Ignores other fields.
CheckpointState parse_checkpoint_state(std::string_view text, std::string_view origin);
std::string checkpoint_state_text(const CheckpointState& state);

}  // namespace smelt::io
