#include "src/zero/sharded_optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "stepwell/bytes.h"
#include "stepwell/check.h"

namespace stepwell::zero {

using optim::BFloat16;
using optim::kNormBlockElements;
using residency::Access;
using residency::Hold;
using residency::PageUse;

namespace {

/// Calls function(begin, end) over [0, count) on the worker threads, in pieces of whole norm
/// blocks.
template <class Function>
void parallel_blocks(std::uint64_t count, const Function& function) {
  optim::parallel_ranges(count,
                         4 * kNormBlockElements,
                         &function,
                         [](const void* context, std::uint64_t begin, std::uint64_t end) {
                           (*static_cast<const Function*>(context))(begin, end);
                         });
}

/// Pins that end with the scope. Long: the holder acquires more pages meanwhile.
class LongPages {
 public:
  LongPages(residency::PageTable& table, std::span<const PageUse> uses)
      : table_(table), uses_(uses) {}
  ~LongPages() {
    if (held_) {
      table_.release(uses_, Hold::kLong);
    }
  }
  LongPages(const LongPages&) = delete;
  LongPages& operator=(const LongPages&) = delete;
  Status acquire(NameId name) {
    STEPWELL_RETURN_IF_ERROR(table_.acquire(name, uses_, Hold::kLong));
    held_ = true;
    return {};
  }

 private:
  residency::PageTable& table_;
  std::span<const PageUse> uses_;
  bool held_ = false;
};

}  // namespace

ShardedOptimizer::ShardedOptimizer(residency::PageTable& table,
                                   std::vector<ShardedParameter> parameters,
                                   const ShardedOptimizerOptions& options)
    : table_(table),
      parameters_(std::move(parameters)),
      options_(options),
      states_(parameters_.size()),
      places_(parameters_.size()),
      accumulate_name_(table.operator_id("gradient accumulation")),
      step_name_(table.operator_id("optimizer step")),
      read_name_(table.operator_id("state access")) {}

Result<std::unique_ptr<ShardedOptimizer>> ShardedOptimizer::create(
    residency::PageTable& table,
    std::vector<ShardedParameter> parameters,
    const ShardedOptimizerOptions& options,
    const MasterSource& source) {
  std::unique_ptr<ShardedOptimizer> made(
      new ShardedOptimizer(table, std::move(parameters), options));  // NOLINT: private constructor
  STEPWELL_RETURN_IF_ERROR(made->fit_tiles());
  STEPWELL_RETURN_IF_ERROR(made->create_pages(source));
  return made;
}

ShardedOptimizer::~ShardedOptimizer() {
  for (TileState& tile : tiles_) {
    for (const PageId id : {tile.state_page, tile.gradient_page}) {
      if (id.valid()) {
        table_.destroy(id);
      }
    }
  }
}

bool ShardedOptimizer::has_master(const Tile& tile) const {
  return std::any_of(tile.segments.begin(), tile.segments.end(), [&](const Segment& segment) {
    return parameters_[segment.parameter].type != ElementType::kFloat32;
  });
}

/// States and gradients of one tile must be in memory together: makes tiles small enough for two,
/// so
// that the next one can be read meanwhile. Results do not depend on it.
Status ShardedOptimizer::fit_tiles() {
  const std::uint64_t limit = table_.limit_bytes(options_.pool);
  const bool masters = std::any_of(parameters_.begin(), parameters_.end(), [](const auto& one) {
    return one.type != ElementType::kFloat32;
  });
  const std::uint64_t element_bytes = (masters ? 4 : 3) * sizeof(float);
  const auto refuse = [&](std::uint64_t needed, const std::string& what) {
    return Status(StatusCode::kBudgetExceeded,
                  concat(what,
                         " need ",
                         format_bytes(needed),
                         " of the ",
                         to_string(options_.pool),
                         "'s memory, its budget is ",
                         format_bytes(limit),
                         ". Raise stepwell.memory.",
                         to_string(options_.pool),
                         "_bytes to at least ",
                         needed));
  };
  std::uint64_t elements = 0;
  for (const ShardedParameter& parameter : parameters_) {
    elements += align_up(parameter.elements, kTileAlignment);
  }
  if (options_.home == options_.pool) {
    return elements * element_bytes <= limit
               ? Status()
               : refuse(elements * element_bytes,
                        "optimizer states and gradients, which stay there (offload_optimizer),");
  }
  const std::uint64_t half = limit / 2 / element_bytes;
  options_.tile_elements = std::min(
      options_.tile_elements, std::max(align_down(half, kNormBlockElements), kNormBlockElements));
  const std::uint64_t smallest = std::min(kNormBlockElements, elements) * element_bytes;
  return smallest <= limit ? Status() : refuse(smallest, "states and gradients of one tile");
}

Status ShardedOptimizer::create_pages(const MasterSource& source) {
  std::vector<std::uint64_t> elements;
  for (std::uint32_t parameter = 0; parameter < parameters_.size(); ++parameter) {
    elements.push_back(parameters_[parameter].elements);
    states_[parameter].block_squares.resize(div_ceil(elements.back(), kNormBlockElements));
    states_[parameter].write_count = table_.write_count(parameters_[parameter].page);
  }
  for (Tile& tile : make_tiles(elements, options_.tile_elements)) {
    const auto number = static_cast<std::uint32_t>(tiles_.size());
    for (std::uint32_t segment = 0; segment < tile.segments.size(); ++segment) {
      places_[tile.segments[segment].parameter].push_back({number, segment});
    }
    const std::uint64_t parts = has_master(tile) ? 3 : 2;
    const std::string range = concat(parameters_[tile.segments.front().parameter].name,
                                     " .. ",
                                     parameters_[tile.segments.back().parameter].name);
    tiles_.push_back({.tile = std::move(tile)});
    TileState& made = tiles_.back();
    residency::PageOptions page{.name = "optimizer states of " + range,
                                .size_bytes = parts * made.tile.elements * sizeof(float),
                                .pool = options_.pool,
                                .home = options_.home,
                                .holder = memory::Holder::kOptimizerStates,
                                .zero_fill = true};
    Result<PageId> id = table_.create(page);
    STEPWELL_RETURN_IF_ERROR(id.status());
    made.state_page = id.value();
    state_bytes_ += page.size_bytes;
    page.name = "gradients of " + range;
    page.size_bytes = made.tile.elements * sizeof(float);
    page.holder = memory::Holder::kGradients;
    page.zero_fill = false;
    id = table_.create(page);
    STEPWELL_RETURN_IF_ERROR(id.status());
    made.gradient_page = id.value();
    gradient_bytes_ += page.size_bytes;
    STEPWELL_RETURN_IF_ERROR(fill_masters(made, source));
  }
  return {};
}

float* ShardedOptimizer::state_at(std::byte* page, const Tile& tile, StateKind kind) const {
  return reinterpret_cast<float*>(page) + static_cast<std::uint64_t>(kind) * tile.elements;
}

Status ShardedOptimizer::fill_masters(const TileState& tile, const MasterSource& source) {
  if (!has_master(tile.tile)) {
    return {};
  }
  const std::array<PageUse, 1> state_use{{{tile.state_page, Access::kWrite}}};
  LongPages state(table_, state_use);
  STEPWELL_RETURN_IF_ERROR(state.acquire(step_name_));
  float* master = state_at(table_.data(tile.state_page), tile.tile, StateKind::kMaster);
  for (const Segment& segment : tile.tile.segments) {
    if (parameters_[segment.parameter].type != ElementType::kFloat32) {
      STEPWELL_RETURN_IF_ERROR(source(segment.parameter,
                                      segment.first_element,
                                      segment.elements,
                                      master + segment.tile_offset));
    }
  }
  return {};
}

template <class Function>
Status ShardedOptimizer::for_each_segment(std::uint32_t parameter,
                                          bool gradient,
                                          Function function) {
  for (const Place& place : places_[parameter]) {
    const TileState& tile = tiles_[place.tile];
    const PageId page = gradient ? tile.gradient_page : tile.state_page;
    const std::array<PageUse, 1> use{{{page, Access::kRead}}};
    residency::ScopedPages pages;
    STEPWELL_RETURN_IF_ERROR(pages.acquire(table_, read_name_, use));
    function(tile.tile, tile.tile.segments[place.segment], table_.data(page));
  }
  return {};
}

Status ShardedOptimizer::accumulate(std::uint32_t parameter,
                                    const void* gradient,
                                    ElementType type) {
  ParameterState& state = states_[parameter];
  const bool add = state.contributions > 0;
  const optim::Kernels& kernels = optim::kernels();
  for (const Place& place : places_[parameter]) {
    const TileState& tile = tiles_[place.tile];
    const Segment& segment = tile.tile.segments[place.segment];
    const std::array<PageUse, 1> use{{{tile.gradient_page, Access::kWrite}}};
    residency::ScopedPages pages;
    STEPWELL_RETURN_IF_ERROR(pages.acquire(table_, accumulate_name_, use));
    float* sum = reinterpret_cast<float*>(table_.data(tile.gradient_page)) + segment.tile_offset;
    double* squares = state.block_squares.data() + segment.first_element / kNormBlockElements;
    const auto blocks = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t at = begin; at < end; at += kNormBlockElements) {
        const std::uint64_t count = std::min(kNormBlockElements, end - at);
        const std::uint64_t from = segment.first_element + at;
        squares[at / kNormBlockElements] =
            type == ElementType::kFloat32
                ? kernels.accumulate_f32(
                      sum + at, static_cast<const float*>(gradient) + from, count, add)
                : kernels.accumulate_bf16(
                      sum + at, static_cast<const BFloat16*>(gradient) + from, count, add);
      }
    };
    parallel_blocks(segment.elements, blocks);
  }
  ++state.contributions;
  return {};
}

double ShardedOptimizer::gradient_norm() const {
  double total = 0.0;
  for (const ParameterState& state : states_) {
    double of_parameter = 0.0;
    if (state.contributions > 0) {
      for (const double square : state.block_squares) {
        of_parameter += square;
      }
    }
    total += of_parameter;
  }
  return std::sqrt(total);
}

bool ShardedOptimizer::has_gradient(const Tile& tile) const {
  return std::any_of(tile.segments.begin(), tile.segments.end(), [&](const Segment& segment) {
    return states_[segment.parameter].contributions > 0;
  });
}

Result<StepOutcome> ShardedOptimizer::step(double lr) {
  StepOutcome outcome{.norm = gradient_norm()};
  if (!std::isfinite(outcome.norm)) {
    drop_gradients();
    return outcome;
  }
  double grad_scale = 1.0;
  if (options_.clip_norm > 0.0) {
    grad_scale = 1.0 / std::max(1.0, (outcome.norm + 1e-6) / options_.clip_norm);
  }
  for (std::size_t index = 0; index < parameters_.size(); ++index) {
    states_[index].steps += states_[index].contributions > 0 ? 1U : 0U;
  }
  for (TileState& tile : tiles_) {
    if (has_gradient(tile.tile)) {
      STEPWELL_RETURN_IF_ERROR(update_tile(tile, lr, grad_scale));
    }
  }
  for (std::size_t index = 0; index < parameters_.size(); ++index) {
    states_[index].contributions = 0;
  }
  outcome.applied = true;
  return outcome;
}

Status ShardedOptimizer::update_tile(TileState& tile, double lr, double grad_scale) {
  const std::array<PageUse, 2> uses{
      {{tile.state_page, Access::kWrite}, {tile.gradient_page, Access::kConsume}}};
  LongPages pages(table_, uses);
  STEPWELL_RETURN_IF_ERROR(pages.acquire(step_name_));
  auto* state = reinterpret_cast<float*>(table_.data(tile.state_page));
  const auto* gradient = reinterpret_cast<const float*>(table_.data(tile.gradient_page));
  optim::AdamOptions adam = options_.adam;
  adam.lr = lr;
  for (const Segment& segment : tile.tile.segments) {
    const ParameterState& of = states_[segment.parameter];
    if (of.contributions > 0) {
      const optim::AdamScalars scalars = optim::make_adam_scalars(adam, of.steps, grad_scale);
      STEPWELL_RETURN_IF_ERROR(update_segment(tile, segment, scalars, state, gradient));
    }
  }
  return {};
}

Status ShardedOptimizer::update_segment(const TileState& tile,
                                        const Segment& segment,
                                        const optim::AdamScalars& scalars,
                                        float* state,
                                        const float* gradient) {
  const ShardedParameter& parameter = parameters_[segment.parameter];
  ParameterState& of = states_[segment.parameter];
  const bool is_bf16 = parameter.type == ElementType::kBfloat16;
  if (segment.first_element == 0) {
    of.changed_outside = table_.write_count(parameter.page) != of.write_count;
  }
  const bool follow = is_bf16 && (of.changed_outside || parameter.unwatched);
  const bool whole_page = segment.elements * size_of(parameter.type) == parameter.page_bytes;
  const Access access = is_bf16 && whole_page && !follow ? Access::kOverwrite : Access::kWrite;
  const std::array<PageUse, 1> use{{{parameter.page, access}}};
  residency::ScopedPages pages;
  STEPWELL_RETURN_IF_ERROR(pages.acquire(table_, step_name_, use));
  of.write_count = table_.write_count(parameter.page);
  std::byte* weight = table_.data(parameter.page) + parameter.offset_bytes +
                      segment.first_element * size_of(parameter.type);
  auto* bytes = reinterpret_cast<std::byte*>(state);
  float* m = state_at(bytes, tile.tile, StateKind::kExpAvg) + segment.tile_offset;
  float* v = state_at(bytes, tile.tile, StateKind::kExpAvgSq) + segment.tile_offset;
  const float* g = gradient + segment.tile_offset;
  const optim::Kernels& kernels = optim::kernels();
  const auto update = [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t count = end - begin;
    if (!is_bf16) {
      float* p = reinterpret_cast<float*>(weight) + begin;
      kernels.adam(scalars, p, m + begin, v + begin, g + begin, count);
      return;
    }
    auto* value = reinterpret_cast<BFloat16*>(weight) + begin;
    float* master = state_at(bytes, tile.tile, StateKind::kMaster) + segment.tile_offset + begin;
    if (follow) {
      kernels.follow_bf16(master, value, count);
    }
    kernels.adam(scalars, master, m + begin, v + begin, g + begin, count);
    kernels.f32_to_bf16(value, master, count);
  };
  parallel_blocks(segment.elements, update);
  return {};
}

void ShardedOptimizer::drop_gradients() {
  for (ParameterState& state : states_) {
    state.contributions = 0;
  }
  for (const TileState& tile : tiles_) {
    table_.discard(tile.gradient_page);
  }
}

Status ShardedOptimizer::read_state(std::uint32_t parameter, StateKind kind, float* destination) {
  return for_each_segment(
      parameter, false, [&](const Tile& tile, const Segment& segment, std::byte* page) {
        std::memcpy(destination + segment.first_element,
                    state_at(page, tile, kind) + segment.tile_offset,
                    segment.elements * sizeof(float));
      });
}

Status ShardedOptimizer::read_gradient(std::uint32_t parameter, float* destination) {
  return for_each_segment(
      parameter, true, [&](const Tile&, const Segment& segment, std::byte* page) {
        std::memcpy(destination + segment.first_element,
                    reinterpret_cast<const float*>(page) + segment.tile_offset,
                    segment.elements * sizeof(float));
      });
}

Status ShardedOptimizer::read_weight(std::uint32_t parameter, float* destination) {
  const ShardedParameter& of = parameters_[parameter];
  if (of.type == ElementType::kBfloat16) {
    STEPWELL_RETURN_IF_ERROR(read_state(parameter, StateKind::kMaster, destination));
  }
  const std::array<PageUse, 1> use{{{of.page, Access::kRead}}};
  residency::ScopedPages pages;
  STEPWELL_RETURN_IF_ERROR(pages.acquire(table_, read_name_, use));
  const std::byte* weight = table_.data(of.page) + of.offset_bytes;
  if (of.type == ElementType::kBfloat16) {
    // What the user changed since the last step counts.
    optim::kernels().follow_bf16(
        destination, reinterpret_cast<const BFloat16*>(weight), of.elements);
  } else {
    std::memcpy(destination, weight, of.elements * sizeof(float));
  }
  return {};
}

}  // namespace stepwell::zero
