#include "stepwell/memory/budget.h"

#include <algorithm>
#include <utility>

#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::memory {

const char* to_string(Holder holder) {
  switch (holder) {
    case Holder::kParameters:
      return "parameters";
    case Holder::kGradients:
      return "gradients";
    case Holder::kOptimizerStates:
      return "optimizer states";
    case Holder::kActivations:
      return "activations";
    case Holder::kStaging:
      return "staging";
    case Holder::kOther:
      return "other";
  }
  return "unknown";
}

Reservation::Reservation(Reservation&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      holder_(other.holder_) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    holder_ = other.holder_;
  }
  return *this;
}

Reservation::~Reservation() {
  release();
}

void Reservation::release() {
  if (budget_ != nullptr) {
    budget_->give_back(bytes_, holder_);
    budget_ = nullptr;
    bytes_ = 0;
  }
}

Budget::Budget(std::string name, std::uint64_t limit_bytes)
    : name_(std::move(name)), limit_bytes_(limit_bytes) {
  usage_.limit_bytes = limit_bytes;
}

Budget::~Budget() {
  STEPWELL_CHECK(usage_.used_bytes == 0,
                 concat("budget '", name_, "' ends with ", usage_.used_bytes, " bytes still held"));
}

Result<Reservation> Budget::reserve(std::uint64_t bytes, Holder holder) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes <= limit_bytes_ - usage_.used_bytes) {
      usage_.used_bytes += bytes;
      usage_.by_holder[static_cast<std::size_t>(holder)] += bytes;
      usage_.peak_bytes = std::max(usage_.peak_bytes, usage_.used_bytes);
      return Reservation(this, bytes, holder);
    }
  }
  return Status(StatusCode::kBudgetExceeded,
                concat(name_,
                       " budget: asked ",
                       format_bytes(bytes),
                       " for ",
                       to_string(holder),
                       ", limit ",
                       format_bytes(limit_bytes_),
                       ", used ",
                       format_bytes(usage().used_bytes),
                       " (",
                       table(),
                       "). Raise stepwell.memory.",
                       name_,
                       "_bytes"));
}

void Budget::give_back(std::uint64_t bytes, Holder holder) noexcept {
  const std::lock_guard lock(mutex_);
  usage_.used_bytes -= bytes;
  usage_.by_holder[static_cast<std::size_t>(holder)] -= bytes;
}

std::uint64_t Budget::available_bytes() const {
  const std::lock_guard lock(mutex_);
  return limit_bytes_ - usage_.used_bytes;
}

Budget::Usage Budget::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

std::string Budget::table() const {
  const Usage now = usage();
  std::string text;
  for (int holder = 0; holder < kHolderCount; ++holder) {
    const std::uint64_t bytes = now.by_holder[static_cast<std::size_t>(holder)];
    if (bytes > 0) {
      text += concat(text.empty() ? "" : ", ",
                     to_string(static_cast<Holder>(holder)),
                     " ",
                     format_bytes(bytes));
    }
  }
  return text.empty() ? "nothing held" : text;
}

}  // namespace stepwell::memory
