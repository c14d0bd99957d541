// Replaces a generated folder and keeps the files that the user has added to it.
#pragma once

#include <functional>
#include <string>

namespace smelt::pipeline {

// Calls `make`, which replaces the local folder, then restores files that do not belong to an
// exported model, such as a model card. If the process is killed in between, the next call restores
// them.
void replace_keeping_others(const std::string& folder, const std::function<void()>& make);

}  // namespace smelt::pipeline
