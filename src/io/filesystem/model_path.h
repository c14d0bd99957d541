// Names of pretrained models, which may be folders here or repositories on the Hugging Face Hub.
#pragma once

#include <string>
#include <string_view>

namespace smelt::io {

// Returns hf://ORG/NAME if `name` has the form ORG/NAME and neither it nor a folder ORG exists
// here, and logs that the Hub is used; `what`, the name of the flag or field, begins the message.
// Returns any other name unchanged. Relative names are relative to `directory`, if it is not empty,
// and the result is its path.
std::string model_path(const std::string& name, std::string_view what,
                       const std::string& directory = "");

}  // namespace smelt::io
