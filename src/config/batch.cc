#include "src/config/batch.h"

#include "src/base/format.h"

namespace stepwell::config {
namespace {

/// a * b * c, or nothing when it is above kBatchMax.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t ab = 0;
  std::uint64_t abc = 0;
  if (__builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &abc) || abc > kBatchMax) {
    return std::nullopt;
  }
  return abc;
}

}  // namespace

Result<Batch> derive_batch(const GivenBatch& given, std::uint64_t ranks) {
  if (!given.train && !given.micro) {
    return Status(StatusCode::kInvalidArgument,
                  "train_batch_size or train_micro_batch_size_per_gpu is needed: give one of them "
                  "as a number");
  }
  Batch batch;
  if (given.micro) {
    batch.micro = *given.micro;
    batch.accumulation_steps =
        given.accumulation_steps.value_or(given.train ? *given.train / *given.micro / ranks : 1);
  } else {
    batch.accumulation_steps = given.accumulation_steps.value_or(1);
    batch.micro = *given.train / ranks / batch.accumulation_steps;
  }
  const std::optional<std::uint64_t> samples =
      product(batch.micro, batch.accumulation_steps, ranks);
  batch.train = given.train.value_or(samples.value_or(0));
  if (!samples || *samples == 0 || *samples != batch.train) {
    return Status(
        StatusCode::kInvalidArgument,
        concat("train_batch_size must be train_micro_batch_size_per_gpu x "
               "gradient_accumulation_steps x ranks, at least 1 and at most ",
               kBatchMax,
               ": ",
               given.train ? concat(batch.train) : "the product",
               given.train ? " is not " : " of ",
               batch.micro,
               " x ",
               batch.accumulation_steps,
               " x ",
               ranks,
               given.train ? "; leave one of the three keys out, or mend it" : " is too large"));
  }
  return batch;
}

}  // namespace stepwell::config
