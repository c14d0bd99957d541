#include "text/readers/composed_json.h"

#include "text/readers/unicode.h"

namespace smelt::text {

Json composed(Json value) {
  if (value.is_string()) return nfc(value.get<std::string>());
  if (value.is_structured())
    for (Json& item : value) item = composed(std::move(item));
  return value;
}

}  // namespace smelt::text
