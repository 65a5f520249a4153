// Always-on checks for bugs of this library. A failed check prints the condition, the values and
// the place, and ends the process: going on would train on wrong bytes. Failures of the outside
// world use Status instead.
#pragma once

#include <string>

namespace stepwell::internal {

/// Prints and aborts. Never returns.
[[noreturn]] void check_failed(const char* file,
                               int line,
                               const char* condition,
                               const std::string& message);

}  // namespace stepwell::internal

/// Aborts with `message` (anything a std::string is made from) unless `condition` holds. On in
/// every build.
#define STEPWELL_CHECK(condition, message)                                           \
  do {                                                                               \
    if (__builtin_expect(!static_cast<bool>(condition), 0)) {                        \
      ::stepwell::internal::check_failed(__FILE__, __LINE__, #condition, (message)); \
    }                                                                                \
  } while (false)
