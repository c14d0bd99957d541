// A made folder that is made anew, and what its user has put into it.
#pragma once

#include <functional>
#include <string>

namespace smelt {

// Calls `make`, which replaces the folder. What lies in there and is none of an exported model's
// files, as a model card, is there again afterwards; where that was cut off by a kill, after the
// next call. Of a local folder only.
void replace_keeping_others(const std::string& folder, const std::function<void()>& make);

}  // namespace smelt
