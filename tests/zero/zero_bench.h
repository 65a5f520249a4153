// Parameters as pages, and an optimizer over them, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "src/zero/sharded_optimizer.h"
#include "tests/residency/table_bench.h"

namespace stepwell::zero {

/// Where everything lives in one run. Budgets in blocks of 4 KiB.
struct Placement {
  const char* name = "";
  std::uint64_t tile_elements = 4'194'304;
  Tier pool = Tier::kDevice;
  Tier home = Tier::kDevice;
  Tier weight_home = Tier::kDevice;
  bool unified = true;
  std::uint64_t device_blocks = 4096;
  std::uint64_t host_blocks = 4096;
};

inline void PrintTo(const Placement& placement, std::ostream* out) {
  *out << placement.name;
}

inline std::vector<float> random_floats(std::mt19937& random, std::uint64_t count) {
  std::vector<float> values(count);
  std::normal_distribution<float> normal(0.0F, 0.1F);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

struct ZeroBench {
  explicit ZeroBench(const Placement& placed)
      : placement(placed),
        bench({.device_blocks = placed.device_blocks,
               .host_blocks = placed.host_blocks,
               .unified = placed.unified}) {}

  /// A parameter that has a page of its own, filled with `weight`.
  void add(ElementType type, std::vector<float> weight) {
    const std::string name = "w" + std::to_string(parameters.size());
    const std::uint64_t bytes = weight.size() * size_of(type);
    const PageId page =
        bench.table.create({.name = name, .size_bytes = bytes, .home = placement.weight_home})
            .value_or_throw();
    parameters.push_back(
        {.name = name, .page = page, .page_bytes = bytes, .elements = weight.size(), .type = type});
    weights.push_back(std::move(weight));
    const std::size_t index = parameters.size() - 1;
    change(index, [&](std::byte* data) {
      if (type == ElementType::kFloat32) {
        std::memcpy(data, weights[index].data(), bytes);
      } else {
        optim::kernels().f32_to_bf16(
            reinterpret_cast<optim::BFloat16*>(data), weights[index].data(), weights[index].size());
      }
    });
  }

  Status make(const optim::AdamOptions& adam = {}, double clip_norm = 0.0) {
    Result<std::unique_ptr<ShardedOptimizer>> made = ShardedOptimizer::create(
        bench.table,
        parameters,
        {.adam = adam,
         .clip_norm = clip_norm,
         .tile_elements = placement.tile_elements,
         .pool = placement.pool,
         .home = placement.home},
        [this](std::uint32_t index, std::uint64_t first, std::uint64_t count, float* to) {
          std::memcpy(to, weights[index].data() + first, count * sizeof(float));
          return Status();
        });
    STEPWELL_RETURN_IF_ERROR(made.status());
    optimizer = std::move(made).value();
    return {};
  }

  /// What a user's own operator does to a weight.
  template <class Function>
  void change(std::size_t index, Function function) {
    const std::vector<residency::PageUse> use{{parameters[index].page, residency::Access::kWrite}};
    throw_if_error(bench.table.acquire(bench.name, use));
    function(bench.table.data(parameters[index].page));
    bench.table.release(use);
  }

  std::vector<std::byte> weight_bytes(std::size_t index) {
    const std::vector<residency::PageUse> use{{parameters[index].page, residency::Access::kRead}};
    throw_if_error(bench.table.acquire(bench.name, use));
    const std::byte* data = bench.table.data(parameters[index].page);
    std::vector<std::byte> bytes(data, data + parameters[index].page_bytes);
    bench.table.release(use);
    return bytes;
  }

  template <class Read>
  std::vector<float> read(std::size_t index, Read function) {
    std::vector<float> values(parameters[index].elements);
    throw_if_error(function(static_cast<std::uint32_t>(index), values.data()));
    return values;
  }
  std::vector<float> state(std::size_t index, StateKind kind) {
    return read(index,
                [&](std::uint32_t at, float* to) { return optimizer->read_state(at, kind, to); });
  }
  std::vector<float> weight(std::size_t index) {
    return read(index, [&](std::uint32_t at, float* to) { return optimizer->read_weight(at, to); });
  }
  std::vector<float> gradient(std::size_t index) {
    return read(index,
                [&](std::uint32_t at, float* to) { return optimizer->read_gradient(at, to); });
  }

  Placement placement;
  residency::Bench bench;
  std::vector<ShardedParameter> parameters;
  std::vector<std::vector<float>> weights;  // as they were at first, exact
  std::unique_ptr<ShardedOptimizer> optimizer;
};

}  // namespace stepwell::zero
