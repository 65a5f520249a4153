// Errors of the outside world (disk, limits, input) as values. Bugs are not errors: see check.h.
//
// Core code returns Status or Result<T>. Only the public edge (initialize, zero::Init,
// configuration, the operators of a paged tensor) throws, always a stepwell::Error that carries the
// Status.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "stepwell/check.h"

namespace stepwell {

/// What kind of failure it is; decides what a caller can do about it.
enum class StatusCode {
  kOk,
  kInvalidArgument,   // input or configuration is wrong; the message says how to mend it
  kNotFound,          // a file, folder, key or parameter does not exist
  kPermissionDenied,  // EACCES, EPERM
  kReadOnly,          // EROFS
  kNoSpace,           // ENOSPC, EDQUOT
  kMisaligned,        // a direct I/O request that the file refuses
  kIo,                // any other failure of a device or file
  kTimedOut,          // a request that did not complete before its deadline
  kCorrupt,           // bytes read are not the bytes written
  kBudgetExceeded,    // a memory budget is too small for what must be resident at once
  kUnsupported,       // the machine, kernel or build cannot do it
  kCancelled,         // given up because of an earlier failure or shutdown
  kInternal,          // none of the above
};

/// Name of `code` as it is printed, e.g. "no space".
const char* to_string(StatusCode code);

/// Outcome of an operation: ok, or a code with a message that names operation, object, numbers and
/// cure. Value type; thread-compatible.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, int os_error = 0)
      : code_(code), os_error_(os_error), message_(std::move(message)) {}

  /// Status for errno value `os_error`: the code is derived from it and its text is appended to
  /// `message`.
  static Status from_errno(int os_error, std::string message);

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  /// The errno value behind it, or 0.
  int os_error() const { return os_error_; }
  const std::string& message() const { return message_; }
  /// "code: message", or "ok".
  std::string to_string() const;
  /// The same failure with `context` put in front of the message: "context: message".
  Status with_context(const std::string& context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  int os_error_ = 0;
  std::string message_;
};

/// Exception of the public edge.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status)
      : std::runtime_error(status.to_string()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// Throws Error when `status` is not ok.
inline void throw_if_error(const Status& status) {
  if (!status.ok()) {
    throw Error(status);
  }
}

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;`
  Result(T value) : state_(std::in_place_index<1>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return status;`
  Result(Status status) : state_(std::in_place_index<0>, std::move(status)) {
    STEPWELL_CHECK(!std::get<0>(state_).ok(), "a Result without a value needs an error");
  }

  bool ok() const { return state_.index() == 1; }
  /// The error; ok() when there is a value.
  Status status() const { return ok() ? Status() : std::get<0>(state_); }
  T& value() & {
    STEPWELL_CHECK(ok(), std::get<0>(state_).to_string());
    return std::get<1>(state_);
  }
  const T& value() const& {
    STEPWELL_CHECK(ok(), std::get<0>(state_).to_string());
    return std::get<1>(state_);
  }
  T value() && {
    STEPWELL_CHECK(ok(), std::get<0>(state_).to_string());
    return std::move(std::get<1>(state_));
  }
  /// The value, or throws Error.
  T value_or_throw() && {
    throw_if_error(status());
    return std::move(std::get<1>(state_));
  }

 private:
  std::variant<Status, T> state_;
};

}  // namespace stepwell

/// Returns from the enclosing function when `expression` (a Status) is not ok.
#define STEPWELL_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                        \
    if (::stepwell::Status status_of_expression = (expression); !status_of_expression.ok()) { \
      return status_of_expression;                                                            \
    }                                                                                         \
  } while (false)
