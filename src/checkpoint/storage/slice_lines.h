// The "tensors" field of a checkpoint's manifest: which file holds each tensor or slice. Format:
// docs/reference/formats/checkpoint.md.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "checkpoint/storage/slices.h"

namespace smelt::checkpoint {

// Returns the name of a slice in its file: the tensor's own name if it is whole, else for example
// "bert/w[0:4,8:16]".
std::string piece_name(const std::string& tensor, const SlicedTensor& whole,
                       const TensorSlice& slice);

// File names by the name of the tensor or slice.
using PieceFiles = std::map<std::string, std::string>;
// Returns the manifest entry of a tensor, with its slices sorted by position.
Json tensor_line(const std::string& name, const SlicedTensor& tensor, const PieceFiles& files);

// A tensor or slice in a file. If its values are not in memory, `put` copies them.
struct Piece {
  io::TensorView view;
  io::PutBytes put = {};
};
using Pieces = std::map<std::string, Piece, std::less<>>;
Pieces pieces_of(const io::TensorMap& tensors);

// The pieces of each file, by file name.
using FilePieces = std::map<std::string, Pieces>;
// Returns every tensor of the files as a whole tensor.
SlicedTensors unsliced_tensors(const FilePieces& files);
// Returns the tensors that the manifest's "tensors" field describes. Throws DamagedCheckpoint if
// slices overlap, exceed their tensor, do not cover it, are missing or have another shape than the
// manifest says.
SlicedTensors sliced_tensors(const std::string& path, const Json& lines, FilePieces files);

}  // namespace smelt::checkpoint
