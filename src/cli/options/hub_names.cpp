#include "cli/options/hub_names.h"

#include "io/filesystem/model_path.h"

namespace smelt::cli {

CLI::Option* accept_hub_names(CLI::Option* option) {
  const std::string name = option->get_name();
  return option->transform(CLI::Validator(
      [name](std::string& value) {
        value = io::model_path(value, name);
        return std::string();
      },
      ""));
}

}  // namespace smelt::cli
