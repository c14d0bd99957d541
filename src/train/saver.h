// The checkpoints of a run while it trains.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "train/model_state.h"
#include "train/trainer.h"

namespace smelt {

class Saver {
 public:
  // `settings` go into each checkpoint; `saved_step` is that of the one there already, -1 for none.
  Saver(const TrainJob& job, nlohmann::json settings, std::int64_t saved_step)
      : job_(job), settings_(std::move(settings)), saved_step_(saved_step) {}

  void save(std::int64_t step, const HostState& host);

  std::int64_t saved_step() const { return saved_step_; }  // -1 before the first
  std::string where_to_go_on() const;                      // for messages

 private:
  const TrainJob& job_;
  nlohmann::json settings_;
  std::int64_t saved_step_;
};

}  // namespace smelt
