// Bytes per second of the Adam kernels against the memory bandwidth of the machine, both measured
// in the same run, in alternating rounds.
//
// The bandwidth is the better of two loops with next to no arithmetic: an update triad, a = b +
// s*a, and an update of three arrays from a fourth, which touches memory just as Adam does (it is
// the faster one on many machines: more streams keep more requests in flight). In both each line
// that is written was read before, so the bytes counted are the bytes moved; the usual triad c = a
// + s*b moves a third more than it counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/base/format.h"
#include "src/optim/kernels.h"
#include "stepwell/bytes.h"

namespace {

using stepwell::optim::InstructionSet;
using stepwell::optim::Kernels;

constexpr const char* kUsage =
    "bench_adam: speed of the Adam kernels against the measured memory bandwidth\n"
    "  --elements N  elements of each array (default 16777216: 64 MiB each)\n"
    "  --rounds N    rounds, of which medians are taken (default 9)\n"
    "  --json        print one JSON object instead of the table\n"
    "  --help        this text\n";
constexpr std::uint64_t kTriadBytes = 3 * sizeof(float);  // an element: two reads, one write
constexpr std::uint64_t kAdamBytes = 7 * sizeof(float);   // reads p, m, v, g; writes p, m, v
constexpr unsigned kThreadCounts[] = {1, 2};

struct Options {
  std::uint64_t elements = 1 << 24;
  std::uint64_t rounds = 9;
  bool json = false;
};

struct Arrays {
  explicit Arrays(std::uint64_t count)
      : p(count, 0.5F), m(count, 0.01F), v(count, 0.001F), g(count, 0.1F) {}
  std::vector<float> p, m, v, g;
};

/// One thing that is measured, with the rate of each round.
struct Subject {
  std::string name;
  unsigned threads;
  std::uint64_t bytes_per_element;
  bool is_bandwidth;  // one of the loops that Adam is compared with
  std::function<void(std::uint64_t begin, std::uint64_t end)> work;
  std::vector<double> rates = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Median of the distances from the median.
double spread(const std::vector<double>& values) {
  std::vector<double> distances;
  for (const double value : values) {
    distances.push_back(std::abs(value - median(values)));
  }
  return median(distances);
}

/// Runs one round on `threads` threads with equal shares; bytes per second.
double measure(const Subject& subject, std::uint64_t elements) {
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> helpers;
    const std::uint64_t share = stepwell::div_ceil(elements, subject.threads);
    for (std::uint64_t begin = share; begin < elements; begin += share) {
      helpers.emplace_back(subject.work, begin, std::min(begin + share, elements));
    }
    subject.work(0, std::min(share, elements));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(elements * subject.bytes_per_element) / seconds.count();
}

void update_three(float* __restrict__ p,
                  float* __restrict__ m,
                  float* __restrict__ v,
                  const float* __restrict__ g,
                  std::uint64_t begin,
                  std::uint64_t end) {
  for (std::uint64_t i = begin; i < end; ++i) {
    p[i] = g[i] + 0.9F * p[i];
    m[i] = g[i] + 0.9F * m[i];
    v[i] = g[i] + 0.9F * v[i];
  }
}

std::vector<Subject> make_subjects(Arrays& arrays, const stepwell::optim::AdamScalars& scalars) {
  std::vector<Subject> subjects;
  for (const unsigned threads : kThreadCounts) {
    const auto triad = [&arrays](std::uint64_t begin, std::uint64_t end) {
      float* const a = arrays.m.data();
      const float* const b = arrays.g.data();
      for (std::uint64_t i = begin; i < end; ++i) {
        a[i] = b[i] + 0.9F * a[i];
      }
    };
    const auto update = [&arrays](std::uint64_t begin, std::uint64_t end) {
      update_three(arrays.p.data(), arrays.m.data(), arrays.v.data(), arrays.g.data(), begin, end);
    };
    subjects.push_back({"triad", threads, kTriadBytes, true, triad});
    subjects.push_back({"update", threads, kAdamBytes, true, update});
    for (const InstructionSet set :
         {InstructionSet::kScalar, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
      const Kernels* table = stepwell::optim::kernels_for(set);
      if (table == nullptr) {
        continue;
      }
      const auto adam = [&arrays, &scalars, table](std::uint64_t begin, std::uint64_t end) {
        table->adam(scalars,
                    arrays.p.data() + begin,
                    arrays.m.data() + begin,
                    arrays.v.data() + begin,
                    arrays.g.data() + begin,
                    end - begin);
      };
      subjects.push_back(
          {stepwell::concat("adam ", to_string(set)), threads, kAdamBytes, false, adam});
    }
  }
  return subjects;
}

const Subject& find(const std::vector<Subject>& subjects,
                    const std::string& name,
                    unsigned threads) {
  return *std::find_if(subjects.begin(), subjects.end(), [&](const Subject& subject) {
    return subject.name == name && subject.threads == threads;
  });
}

/// Of the best bandwidth measured with as many threads.
double ratio_to_memory(const std::vector<Subject>& subjects, const Subject& subject) {
  double bandwidth = 0.0;
  for (const Subject& other : subjects) {
    if (other.is_bandwidth && other.threads == subject.threads) {
      bandwidth = std::max(bandwidth, median(other.rates));
    }
  }
  return median(subject.rates) / bandwidth;
}

void print_table(const std::vector<Subject>& subjects) {
  std::printf("%-14s %7s %14s %14s %9s\n", "what", "threads", "median", "spread", "of memory");
  for (const Subject& subject : subjects) {
    std::printf("%-14s %7u %14s %14s %9.2f\n",
                subject.name.c_str(),
                subject.threads,
                stepwell::format_rate(median(subject.rates)).c_str(),
                stepwell::format_rate(spread(subject.rates)).c_str(),
                ratio_to_memory(subjects, subject));
  }
}

void print_json(const std::vector<Subject>& subjects, const Options& options, double ratio) {
  nlohmann::ordered_json report = {{"bench", "adam"},
                                   {"elements", options.elements},
                                   {"rounds", options.rounds},
                                   {"ratio", ratio}};
  for (const Subject& subject : subjects) {
    report["results"].push_back({{"name", subject.name},
                                 {"threads", subject.threads},
                                 {"bytes_per_second_median", median(subject.rates)},
                                 {"bytes_per_second_spread", spread(subject.rates)},
                                 {"ratio_to_memory", ratio_to_memory(subjects, subject)}});
  }
  std::printf("%s\n", report.dump(2).c_str());
}

/// False, with a message, when the arguments are wrong.
bool parse(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--json") {
      options.json = true;
      continue;
    }
    std::uint64_t* const number = argument == "--elements" ? &options.elements
                                  : argument == "--rounds" ? &options.rounds
                                                           : nullptr;
    if (number != nullptr) {
      *number = i + 1 < count ? std::strtoull(arguments[++i], nullptr, 10) : 0;
    }
    if (number == nullptr || *number == 0) {
      std::fprintf(stderr, "bench_adam: wrong argument %s\n%s", argument.c_str(), kUsage);
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (std::find(arguments + 1, arguments + count, std::string("--help")) != arguments + count) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  Options options;
  if (!parse(count, arguments, options)) {
    return 2;
  }
  Arrays arrays(options.elements);
  const stepwell::optim::AdamScalars scalars =
      stepwell::optim::make_adam_scalars({.weight_decay = 0.01}, 10, 1.0);
  std::vector<Subject> subjects = make_subjects(arrays, scalars);
  for (std::uint64_t round = 0; round <= options.rounds; ++round) {
    for (Subject& subject : subjects) {
      const double rate = measure(subject, options.elements);
      if (round > 0) {  // the first warms up
        subject.rates.push_back(rate);
      }
    }
  }
  const std::string best =
      stepwell::concat("adam ", to_string(stepwell::optim::kernels().instruction_set));
  const double ratio = ratio_to_memory(subjects, find(subjects, best, *std::rbegin(kThreadCounts)));
  if (options.json) {
    print_json(subjects, options, ratio);
  } else {
    print_table(subjects);
    std::printf("adam %.2f\n", ratio);
  }
  return 0;
}
