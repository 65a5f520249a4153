// What interception costs: per operator on a paged tensor, and as a share of a real step.
//
// Per operator: a tiny linear on a paged and on a plain weight in turns, all resident, median of
// rounds. Share: that cost times the page uses of one training step (forward and backward) of a
// 12-layer, width-768 decoder, over the time of the step. Last line: "paging SHARE".
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <vector>

#include "stepwell/log.h"
#include "stepwell/models/gpt2.h"
#include "stepwell/stepwell.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

stepwell::Config config_for(bool paged) {
  stepwell::Config config;
  config.zero.stage = 3;
  config.has_optimizer = true;
  // On unified memory a page with a host home is intercepted like any other, and nothing is moved
  // while all fit.
  config.zero.offload_param.device =
      paged ? stepwell::OffloadDevice::kCpu : stepwell::OffloadDevice::kNone;
  config.stepwell.device_bytes = std::uint64_t{8} << 30;
  return config;
}

/// Nanoseconds that one operator on a paged weight takes more than on a plain one.
double cost_per_operator() {
  torch::Tensor plain = torch::randn({64, 64});
  torch::Tensor paged;
  {
    const stepwell::zero::Init init(config_for(true));
    paged = torch::randn({64, 64});
  }
  const torch::Tensor x = torch::randn({1, 64});
  const torch::NoGradGuard no_grad;
  constexpr int kCalls = 5000;
  std::vector<double> differences;
  for (int round = 0; round < 9; ++round) {
    double seconds[2];
    for (int which = 0; which < 2; ++which) {
      const auto start = Clock::now();
      for (int call = 0; call < kCalls; ++call) {
        torch::linear(x, which == 0 ? plain : paged);
      }
      seconds[which] = seconds_since(start);
    }
    differences.push_back((seconds[1] - seconds[0]) / kCalls * 1e9);
  }
  return median(differences);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    const bool help = std::strcmp(arguments[1], "--help") == 0;
    (help ? std::cout : std::cerr) << "usage: bench_paging   (no options; about a minute)\n";
    return help ? 0 : 2;
  }
  stepwell::set_log_level(stepwell::LogLevel::kWarning);
  const double nanoseconds = cost_per_operator();
  stepwell::models::Gpt2 model(stepwell::models::Gpt2Options{
      .vocabulary = 256, .context = 256, .width = 768, .layers = 12, .heads = 12});
  auto engine = stepwell::initialize(model, config_for(true));
  const torch::Tensor tokens = torch::randint(256, {1, 257}, torch::kInt64);
  std::vector<double> steps;
  std::uint64_t uses = 0;
  for (int step = 0; step < 4; ++step) {
    engine->take_report();
    const auto start = Clock::now();
    engine->backward(engine->forward(tokens.narrow(1, 0, 256), tokens.narrow(1, 1, 256)));
    steps.push_back(seconds_since(start));
    uses = engine->take_report().uses;
    engine->zero_grad();
  }
  const double step_seconds = median(steps);
  const double share = static_cast<double>(uses) * nanoseconds * 1e-9 / step_seconds;
  std::cout << "interception per operator   " << nanoseconds << " ns\n"
            << "page uses of one step       " << uses << " (forward and backward, 256 tokens)\n"
            << "time of the step            " << step_seconds << " s\n"
            << "paging " << share << "\n";
  return 0;
}
