// The tensors of a checkpoint in its manifest, whole or in slices;
// docs/reference/formats/checkpoint.md.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "checkpoint/storage/slices.h"

namespace smelt {

// What a slice is called in its file: a whole tensor by its own name, else "bert/w[0:4,8:16]".
std::string piece_name(const std::string& tensor, const SlicedTensor& whole,
                       const TensorSlice& slice);

// Which file holds a piece, by names.
using PieceFiles = std::map<std::string, std::string>;
// Slices are listed in the order of their places.
Json tensor_line(const std::string& name, const SlicedTensor& tensor, const PieceFiles& files);

// A tensor of a file; without its values where `put` puts them.
struct Piece {
  TensorView view;
  PutBytes put = {};
};
using Pieces = std::map<std::string, Piece, std::less<>>;
Pieces pieces_of(const TensorMap& tensors);

// What the files hold, by the files' names.
using FilePieces = std::map<std::string, Pieces>;
// Every tensor of the files by its own name.
SlicedTensors whole_tensors(const FilePieces& files);
// As the manifest's field "tensors" says. DamagedCheckpoint: slices that overlap, lie outside of
// their tensor, leave some of it out, are missing or of another shape than is said.
SlicedTensors sliced_tensors(const std::string& path, const Json& lines, FilePieces files);

}  // namespace smelt
