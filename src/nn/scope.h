// Named parameters, declared where they are used. A scope is like a path: its text is the name of
// the variable in the original checkpoints, e.g.
// "bert/encoder/layer_0/attention/self/query/kernel".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace smelt {

// How a parameter starts.
struct Init {
  enum Kind { constant, truncated_normal } kind = constant;
  double value = 0;   // constant
  double stddev = 0;  // truncated_normal: cut at +-2 stddev, not rescaled
};

struct Parameter {
  std::string name;
  Tensor tensor;
  Init init;
};

// The parameters of a model in order of declaration.
class Parameters {
 public:
  const std::vector<Parameter>& all() const { return list_; }
  const Parameter* find(std::string_view name) const;

 private:
  friend class Scope;
  std::vector<Parameter> list_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// Where dropout draws from: the same (seed, step, place) gives the same bits on any number of
// devices.
struct DropoutSource {
  std::uint64_t seed = 0;
  Tensor step;          // s32 scalar
  Tensor replica = {};  // s32 scalar: which one this is; empty where one program spans all devices
  // Above 1: this replica's tensors are one of so many parts, by their first dimension, and get
  // that part of the bits of the whole. 1: each replica draws bits of its own.
  std::int64_t parts = 1;
};

class Scope {
 public:
  // Without a dropout source, dropout is the identity (evaluation).
  Scope(Graph& graph, Parameters& parameters, std::optional<DropoutSource> dropout = {})
      : graph_(&graph), parameters_(&parameters), dropout_(std::move(dropout)) {}

  Scope operator/(std::string_view name) const;
  const std::string& path() const { return path_; }
  Graph& graph() const { return *graph_; }
  const std::optional<DropoutSource>& dropout_source() const { return dropout_; }

  // Declares a new f32 parameter; a name declared twice is a bug: say shared() to use one again.
  Tensor parameter(std::string_view name, Dims dims, Init init) const;
  // A parameter declared before, by its full name.
  Tensor shared(std::string_view full_name) const;

 private:
  Graph* graph_;
  Parameters* parameters_;
  std::optional<DropoutSource> dropout_;
  std::string path_;
};

}  // namespace smelt
