#include "stepwell/status.h"

#include <cerrno>
#include <system_error>

namespace stepwell {

const char* to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kPermissionDenied:
      return "permission denied";
    case StatusCode::kReadOnly:
      return "read-only";
    case StatusCode::kNoSpace:
      return "no space";
    case StatusCode::kMisaligned:
      return "misaligned";
    case StatusCode::kIo:
      return "I/O error";
    case StatusCode::kTimedOut:
      return "timed out";
    case StatusCode::kCorrupt:
      return "corrupt data";
    case StatusCode::kBudgetExceeded:
      return "budget exceeded";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown";
}

namespace {

StatusCode code_of_errno(int os_error) {
  switch (os_error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
      return StatusCode::kPermissionDenied;
    case EROFS:
      return StatusCode::kReadOnly;
    case ENOSPC:
    case EDQUOT:
      return StatusCode::kNoSpace;
    case ETIMEDOUT:
      return StatusCode::kTimedOut;
    case ECANCELED:
      return StatusCode::kCancelled;
    case EOPNOTSUPP:
    case ENOSYS:
      return StatusCode::kUnsupported;
    default:
      return StatusCode::kIo;
  }
}

}  // namespace

Status Status::from_errno(int os_error, std::string message) {
  message += ": " + std::generic_category().message(os_error) + " (errno " +
             std::to_string(os_error) + ")";
  return {code_of_errno(os_error), std::move(message), os_error};
}

std::string Status::to_string() const {
  if (ok()) {
    return "ok";
  }
  return std::string(stepwell::to_string(code_)) + ": " + message_;
}

Status Status::with_context(const std::string& context) const {
  return {code_, context + ": " + message_, os_error_};
}

}  // namespace stepwell
