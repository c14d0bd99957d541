#include "checkpoint/storage/slice_lines.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "checkpoint/storage/layout.h"

namespace smelt::checkpoint {
namespace {

std::vector<TensorSlice> in_order(std::vector<TensorSlice> slices) {
  std::ranges::sort(slices, {}, &TensorSlice::begin);
  return slices;
}

std::optional<compiler::Dims> dims_of(const Json& line, const char* field) {
  const auto found = line.find(field);
  if (found == line.end() || !found->is_array()) return std::nullopt;
  compiler::Dims out;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned() ||
        number.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return std::nullopt;
    out.push_back(number.get<std::int64_t>());
  }
  return out;
}

std::string text_of(const Json& line, const char* field) {
  const auto found = line.find(field);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

// Reads one tensor's entry of the manifest without trusting its content.
class LineReader {
 public:
  LineReader(const std::string& path, const std::string& name, FilePieces& files)
      : path_(path), name_(name), files_(files) {}

  SlicedTensor read(const Json& line) {
    const auto dims = line.is_object() ? dims_of(line, "shape") : std::nullopt;
    dtype_ = line.is_object() ? text_of(line, "dtype") : "";
    if (!dims || dtype_.empty()) refuse("has no shape or no dtype");
    dims_ = *dims;
    SlicedTensor out;
    if (const auto slices = line.find("slices"); slices == line.end()) {
      const compiler::Dims begin(dims_.size());
      out.slices.push_back(take(begin, dims_, text_of(line, "file"), name_));
    } else {
      if (!slices->is_array()) refuse("has a field \"slices\" that is not a list");
      for (const Json& slice : *slices) out.slices.push_back(read_slice(slice));
      out.slices = in_order(std::move(out.slices));
      check_cover(out.slices);
    }
    out.shape = {out.slices.front().part.shape.dtype, dims_};
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw_damaged(path_, str(kManifestFile, ": tensor '", name_, "' ", what));
  }
  [[noreturn]] void refuse_hole(const compiler::Dims& place) const {
    refuse(str(compiler::dims_text(dims_), ": no slice holds ", compiler::dims_text(place)));
  }
  [[noreturn]] void refuse(const TensorSlice& a, const TensorSlice& b, const char* what) const {
    refuse(str(compiler::dims_text(dims_), ": its slices ", slice_text(a.begin, a.part.shape.dims),
               " and ", slice_text(b.begin, b.part.shape.dims), " ", what));
  }

  TensorSlice read_slice(const Json& line) {
    const bool object = line.is_object();
    const auto begin = object ? dims_of(line, "begin") : std::nullopt;
    const auto dims = object ? dims_of(line, "shape") : std::nullopt;
    if (!begin || !dims || begin->size() != dims_.size() || dims->size() != dims_.size())
      refuse(str(compiler::dims_text(dims_), ": the begin or shape of a slice is not ",
                 dims_.size(), " non-negative integers"));
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if ((*begin)[i] > dims_[i] || (*dims)[i] > dims_[i] - (*begin)[i])
        refuse(str(compiler::dims_text(dims_), ": its slice ", slice_text(*begin, *dims),
                   " is out of bounds"));
      if ((*dims)[i] == 0)
        refuse(str(compiler::dims_text(dims_), ": its slice ", slice_text(*begin, *dims),
                   " is empty"));
    }
    return take(*begin, *dims, text_of(line, "file"), text_of(line, "name"));
  }

  // Removes the piece from `files_`, so that it cannot be used twice.
  TensorSlice take(const compiler::Dims& begin, const compiler::Dims& dims, const std::string& file,
                   const std::string& piece) {
    const std::string which = dims == dims_ ? "it" : str("its slice ", slice_text(begin, dims));
    const std::string what = str(compiler::dims_text(dims_), ": ", which, " is ");
    const auto in = files_.find(file);
    if (in == files_.end()) refuse(str(what, "missing: there is no file '", file, "'"));
    const auto found = in->second.find(piece);
    if (found == in->second.end()) refuse(str(what, "missing: ", file, " has no '", piece, "'"));
    Piece taken = std::move(found->second);
    const compiler::Shape& shape = taken.view.shape;
    const std::string_view dtype = io::safetensors_dtype(shape.dtype);
    if (shape.dims != dims || dtype != dtype_)
      refuse(str(what, dtype, " ", compiler::dims_text(shape.dims), " in ", file,
                 ", but the manifest lists ", dtype_, " ", compiler::dims_text(dims)));
    in->second.erase(found);
    return {.begin = begin, .part = taken.view, .put = std::move(taken.put)};
  }

  // Checks that the slices form a grid, as sharding over mesh axes produces: slices with the same
  // begin along a dimension have the same end. In sorted order each slice must begin where the
  // previous one ends.
  void check_cover(const std::vector<TensorSlice>& slices) const {
    if (slices.empty()) refuse_hole(compiler::Dims(dims_.size()));
    check_begin(slices.front(), 0);
    for (std::size_t k = 1; k < slices.size(); ++k) {
      const TensorSlice &a = slices[k - 1], &b = slices[k];
      std::size_t along = 0;  // the first dimension in which they differ
      for (; along < dims_.size() && a.begin[along] == b.begin[along]; ++along)
        if (a.part.shape.dims[along] != b.part.shape.dims[along])
          refuse(a, b, "have the same begin but different ends");
      if (along == dims_.size()) refuse(a, b, "overlap");
      check_end(a, along + 1);
      const std::int64_t end = a.begin[along] + a.part.shape.dims[along];
      if (b.begin[along] < end) refuse_overlap(slices, b);
      if (b.begin[along] > end) refuse_hole(place(a, along, end));
      check_begin(b, along + 1);
    }
    check_end(slices.back(), 0);
  }

  // Returns the slice's begin along the first `along` dimensions, `at` along the next one and 0
  // along the others.
  compiler::Dims place(const TensorSlice& slice, std::size_t along, std::int64_t at) const {
    compiler::Dims out(dims_.size());
    std::copy_n(slice.begin.begin(), along, out.begin());
    out[along] = at;
    return out;
  }
  // Checks that the slice begins at 0 along dimension `from` and all later ones.
  void check_begin(const TensorSlice& slice, std::size_t from) const {
    for (std::size_t i = from; i < dims_.size(); ++i)
      if (slice.begin[i] > 0) refuse_hole(place(slice, i, 0));
  }
  void check_end(const TensorSlice& slice, std::size_t from) const {
    for (std::size_t i = dims_.size(); i-- > from;)
      if (const std::int64_t end = slice.begin[i] + slice.part.shape.dims[i]; end < dims_[i])
        refuse_hole(place(slice, i, end));
  }
  [[noreturn]] void refuse_overlap(const std::vector<TensorSlice>& slices,
                                   const TensorSlice& b) const {
    const auto other = std::ranges::find_if(slices, [&](const TensorSlice& a) {
      for (std::size_t i = 0; i < dims_.size(); ++i)
        if (a.begin[i] + a.part.shape.dims[i] <= b.begin[i] ||
            b.begin[i] + b.part.shape.dims[i] <= a.begin[i])
          return false;
      return true;
    });
    refuse(*other, b, "overlap");
  }

  const std::string& path_;
  const std::string& name_;
  FilePieces& files_;
  std::string dtype_;
  compiler::Dims dims_;
};

}  // namespace

std::string piece_name(const std::string& tensor, const SlicedTensor& whole,
                       const TensorSlice& slice) {
  return whole.is_complete() ? tensor : tensor + slice_text(slice.begin, slice.part.shape.dims);
}

// Throws BugError if slices are missing. Prevents an incomplete checkpoint from replacing an older
// one.
static void check_all_is_there(const std::string& name, const SlicedTensor& tensor) {
  std::size_t size = 0;
  for (const TensorSlice& slice : tensor.slices) size += slice.part.shape.size_bytes();
  CHECK(size >= tensor.shape.size_bytes(), name, ": ", size, " bytes of ", tensor.shape);
}

Json tensor_line(const std::string& name, const SlicedTensor& tensor, const PieceFiles& files) {
  check_all_is_there(name, tensor);
  Json line{{"dtype", io::safetensors_dtype(tensor.shape.dtype)}, {"shape", tensor.shape.dims}};
  if (tensor.is_complete()) {
    line["file"] = files.at(name);
    return line;
  }
  line["slices"] = Json::array();
  for (const TensorSlice& slice : in_order(tensor.slices)) {
    const std::string piece = piece_name(name, tensor, slice);
    line["slices"].push_back({{"begin", slice.begin},
                              {"shape", slice.part.shape.dims},
                              {"file", files.at(piece)},
                              {"name", piece}});
  }
  return line;
}

Pieces pieces_of(const io::TensorMap& tensors) {
  Pieces out;
  for (const auto& [name, view] : tensors) out.emplace_hint(out.end(), name, Piece{view});
  return out;
}

SlicedTensors unsliced_tensors(const FilePieces& files) {
  SlicedTensors out;
  for (const auto& [file, pieces] : files)
    for (const auto& [name, piece] : pieces) {
      const compiler::Shape& shape = piece.view.shape;
      out.emplace(
          name, SlicedTensor{shape, {{compiler::Dims(shape.dims.size()), piece.view, piece.put}}});
    }
  return out;
}

SlicedTensors sliced_tensors(const std::string& path, const Json& lines, FilePieces files) {
  SlicedTensors out;
  for (const auto& [name, line] : lines.items())
    out.emplace(name, LineReader(path, name, files).read(line));
  for (const auto& [file, left] : files)
    if (!left.empty())
      throw_damaged(path,
                    str(kManifestFile, " does not list '", left.begin()->first, "' of ", file));
  return out;
}

}  // namespace smelt::checkpoint
