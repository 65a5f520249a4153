// Uses the core library alone: a configuration, and a budget that holds.
#include <cstdio>

#include <stepwell/config.h>
#include <stepwell/memory/budget.h>

int main() {
  const auto config = stepwell::Config::parse(
      R"({"train_batch_size": 4, "stepwell": {"memory": {"device_bytes": "1MiB"}}})");
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", config.status().to_string().c_str());
    return 1;
  }
  using stepwell::memory::Holder;
  stepwell::memory::Budget device("device", config.value().stepwell.device_bytes);
  const auto held = device.reserve(1024 * 1024, Holder::kParameters);
  const auto refused = device.reserve(1, Holder::kGradients);
  if (!held.ok() || refused.ok()) {
    std::fprintf(stderr, "a budget of 1 MiB must give 1 MiB and not a byte more\n");
    return 1;
  }
  std::printf("refused as it must be: %s\n", refused.status().to_string().c_str());
  return 0;
}
