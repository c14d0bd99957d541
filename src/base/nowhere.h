// A stream buffer that discards its output.
#pragma once

#include <streambuf>

namespace smelt {

class Nowhere : public std::streambuf {
 protected:
  int overflow(int character) override { return traits_type::not_eof(character); }
};

}  // namespace smelt
