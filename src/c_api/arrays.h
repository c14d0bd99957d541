// The arrays that functions of include/smelt.h return.
#pragma once

#include <smelt.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

// An owner of named arrays, in the order in which they were added.
struct smelt_arrays {
  // Adds an array of `shape`; `owner` keeps `data` alive.
  void add(std::string name, std::int32_t dtype, std::vector<std::int64_t> shape, const void* data,
           std::shared_ptr<const void> owner);
  // Add a vector as an array of one dimension, or of `shape`.
  void add(std::string name, std::vector<std::int32_t> values);
  void add(std::string name, std::vector<std::int32_t> values, std::vector<std::int64_t> shape);
  void add(std::string name, std::vector<std::int64_t> values);
  // Adds the bytes of a text as u8.
  void add(std::string name, std::string text);
  // Returns the array at `index`, or null if there are fewer.
  const smelt_array* at(std::int64_t index) const;

 private:
  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;
    std::shared_ptr<const void> owner;
    smelt_array view;
  };
  std::deque<Entry> entries_;  // a deque, because the views point into its elements
};

namespace smelt::c_api {

// Returns texts as the arrays "text" and "starts".
std::unique_ptr<smelt_arrays> text_arrays(const std::vector<std::string>& texts);
// Returns JSON text as the array "json".
std::unique_ptr<smelt_arrays> json_arrays(const OrderedJson& json);

}  // namespace smelt::c_api
