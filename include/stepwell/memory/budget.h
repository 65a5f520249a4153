// Budgets: bytes are reserved before anything is allocated, so a tier never holds more than it was
// given.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "stepwell/status.h"

namespace stepwell::memory {

/// Who holds bytes of a budget. Shown in reports and in every out-of-budget error.
enum class Holder : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizerStates,
  kActivations,
  kStaging,
  kOther
};
inline constexpr int kHolderCount = 6;
const char* to_string(Holder holder);

class Budget;

/// Move-only proof that bytes of a budget are held; gives them back when it dies.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  std::uint64_t bytes() const { return bytes_; }
  Holder holder() const { return holder_; }
  Budget* budget() const { return budget_; }
  /// Gives the bytes back now.
  void release();

 private:
  friend class Budget;
  Reservation(Budget* budget, std::uint64_t bytes, Holder holder)
      : budget_(budget), bytes_(bytes), holder_(holder) {}

  Budget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
  Holder holder_ = Holder::kOther;
};

/// A hard limit in bytes. Thread-safe. Must outlive its reservations (checked at destruction).
class Budget {
 public:
  struct Usage {
    std::uint64_t limit_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::array<std::uint64_t, kHolderCount> by_holder{};
  };

  /// `name` appears in messages: "device", "host". `limit_bytes` UINT64_MAX: counted, not limited.
  Budget(std::string name, std::uint64_t limit_bytes);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Reserves `bytes`, or kBudgetExceeded with what was asked, the limit, what is used, and who
  /// holds it.
  Result<Reservation> reserve(std::uint64_t bytes, Holder holder);
  /// Bytes that could be reserved now.
  std::uint64_t available_bytes() const;
  std::uint64_t limit_bytes() const { return limit_bytes_; }
  const std::string& name() const { return name_; }
  Usage usage() const;
  /// One line a holder: "parameters 12 MiB".
  std::string table() const;

 private:
  friend class Reservation;
  void give_back(std::uint64_t bytes, Holder holder) noexcept;

  const std::string name_;
  const std::uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  Usage usage_;  // guarded by mutex_
};

}  // namespace stepwell::memory
