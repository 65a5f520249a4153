// The text of the exception that a call throws.
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace stepwell::test {

/// "" when `function` throws nothing.
inline std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace stepwell::test
