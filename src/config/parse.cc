#include "src/config/parse.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/format.h"
#include "src/config/batch.h"
#include "src/config/schema.h"
#include "src/config/suggest.h"
#include "src/config/value.h"

namespace stepwell::config {
namespace {

/// Sections in which the text "auto" means the default whatever the key.
constexpr std::array<std::string_view, 14> kAutoSections = {"zero_optimization",
                                                            "fp16",
                                                            "bf16",
                                                            "hybrid_engine",
                                                            "tensorboard",
                                                            "wandb",
                                                            "csv_monitor",
                                                            "comet",
                                                            "comms_logger",
                                                            "compile",
                                                            "tensor_parallel",
                                                            "timers.throughput",
                                                            "weight_quantization",
                                                            "scheduler"};

bool is_within(std::string_view path, std::string_view section) {
  return path.starts_with(section) && path.size() > section.size() && path[section.size()] == '.';
}

bool may_be_auto(const Key& key) {
  return key.auto_is_default ||
         std::any_of(kAutoSections.begin(), kAutoSections.end(), [&key](std::string_view section) {
           return is_within(key.path, section);
         });
}

/// The row that turns `section` on, or nullptr.
const Key* gate_of(std::string_view section) {
  const auto found = std::find_if(keys().begin(), keys().end(), [section](const Key& key) {
    return key.gate && parent_of(key.path) == section;
  });
  return found == keys().end() ? nullptr : &*found;
}

class Parser {
 public:
  explicit Parser(std::uint64_t ranks) : ranks_(ranks) {}

  Result<Config> run(const Json& root) {
    if (!root.is_object()) {
      refuse(concat("the configuration must be an object {...}, found ", describe(root)));
      return failure();
    }
    for (const Key& key : keys()) {
      if (key.field != nullptr) {
        store(key, default_of(key), config_);
      }
    }
    walk(root, "", "");
    for (const auto& [key, given] : given_) {
      apply(*key, given);
    }
    check_precision();
    check_optimizer();
    check_offload();
    derive_batch_sizes();
    if (!errors_.empty()) {
      return failure();
    }
    return std::move(config_);
  }

 private:
  struct Given {
    Json value;        // canonical; null: not given after all
    std::string name;  // as the user spelled it
    bool wrong = false;
  };

  void walk(const Json& object, std::string_view section, const std::string& shown_section);
  void take(const Key& key, const std::string& name, const Json& value);
  void take_section(const Key& key, const std::string& name, const Json& value);
  void apply(const Key& key, const Given& given);
  void apply_refused(const Key& key, const Given& given);
  void apply_deprecated(const Key& key, const Given& given);
  void check_precision();
  void check_optimizer();
  void check_offload();
  void derive_batch_sizes();

  enum class Standing : std::uint8_t { kAlone, kInert, kCovered };
  /// Whether a section above `key` is off (it is inert) or refused already (it is covered).
  Standing standing_of(const Key& key, std::string& decided_by) const;

  const Given* given(std::string_view path) const {
    const auto found = given_.find(find_key(path));
    return found == given_.end() ? nullptr : &found->second;
  }
  bool is_wrong(std::string_view path) const {
    const Given* found = given(path);
    return found != nullptr && found->wrong;
  }
  bool is_true(std::string_view path) const {
    const Given* found = given(path);
    return found != nullptr && found->value == true;
  }

  void note(std::string text) { config_.notes.push_back(std::move(text)); }
  void refuse(std::string text, StatusCode code = StatusCode::kInvalidArgument) {
    only_unsupported_ = only_unsupported_ && code == StatusCode::kUnsupported;
    errors_.push_back(std::move(text));
  }
  Status failure() const;

  std::uint64_t ranks_;
  Config config_;
  std::map<const Key*, Given> given_;  // in the order of the table
  std::vector<std::string> errors_;
  bool only_unsupported_ = true;
};

void Parser::walk(const Json& object, std::string_view section, const std::string& shown_section) {
  const auto join = [](std::string_view parent, const std::string& name) {
    return parent.empty() ? name : concat(parent, '.', name);
  };
  for (const auto& [name, value] : object.items()) {
    const std::string shown = join(shown_section, name.empty() ? "\"\"" : name);
    const std::string path = join(section, name);
    // A dot inside a name would make it look like a key of another section.
    const Key* key = name.find('.') == std::string::npos ? find_key(path) : nullptr;
    if (key == nullptr) {
      refuse(concat(shown, ": unknown key", suggest_key(path)));
    } else if (const Given* first = given(key->path); first != nullptr) {
      refuse(concat(shown, ": the same key is given as ", first->name, " too; keep one"));
    } else {
      take(*key, shown, value);
    }
  }
}

void Parser::take(const Key& key, const std::string& name, const Json& value) {
  if (key.effect == Effect::kRemoved) {
    refuse(concat(name, ": refused: ", key.reason), StatusCode::kUnsupported);
    return;
  }
  if (key.type == Type::kSection) {
    take_section(key, name, value);
    return;
  }
  if (value == "auto" && may_be_auto(key)) {
    if (key.field != nullptr) {
      note(concat(name,
                  ": \"auto\" is ",
                  key.default_text == "null" ? "as if not given"
                                             : concat("the default, ", key.default_text)));
    }
    return;
  }
  const Result<Json> canonical = normalise(key, value);
  if (!canonical.ok()) {
    refuse(concat(name, ": ", canonical.status().message()), canonical.status().code());
  }
  given_[&key] = {canonical.ok() ? canonical.value() : Json(), name, !canonical.ok()};
}

void Parser::take_section(const Key& key, const std::string& name, const Json& value) {
  Json object = value;
  if (key.path == "zero_optimization" && value.is_boolean()) {
    object = value == true ? Json{{"stage", 1}} : Json::object();
    note(concat(name, ": a boolean is deprecated: taken as \"stage\": ", value == true ? 1 : 0));
  }
  const Result<Json> canonical = normalise(key, object);
  if (!canonical.ok()) {
    refuse(concat(name, ": ", canonical.status().message()));
  }
  given_[&key] = {canonical.ok() ? object : Json(), name, !canonical.ok()};
  if (canonical.ok() && object.is_object()) {
    walk(object, key.path, name);
  }
}

void Parser::apply(const Key& key, const Given& given) {
  if (given.wrong) {
    return;
  }
  switch (key.effect) {
    case Effect::kImplemented:
      if (key.field != nullptr) {
        store(key, given.value, config_);
      }
      break;
    case Effect::kAccepted:
      if (!asks_for_nothing(key, given.value)) {
        note(concat(given.name, ": no effect: ", key.reason));
      }
      break;
    case Effect::kRefused:
      apply_refused(key, given);
      break;
    case Effect::kDeprecated:
      apply_deprecated(key, given);
      break;
    case Effect::kRemoved:
      break;
  }
}

Parser::Standing Parser::standing_of(const Key& key, std::string& decided_by) const {
  for (std::size_t dot = key.path.find('.'); dot != std::string_view::npos;
       dot = key.path.find('.', dot + 1)) {
    const std::string_view section = key.path.substr(0, dot);
    if (find_key(section)->effect == Effect::kRefused) {
      return Standing::kCovered;
    }
    const Key* gate = gate_of(section);
    if (gate != nullptr && gate != &key) {
      decided_by = gate->path;
      return is_true(gate->path) ? Standing::kCovered : Standing::kInert;
    }
  }
  return Standing::kAlone;
}

void Parser::apply_refused(const Key& key, const Given& given) {
  if (asks_for_nothing(key, given.value)) {
    return;
  }
  std::string decided_by;
  switch (standing_of(key, decided_by)) {
    case Standing::kAlone:
      refuse(concat(given.name,
                    ": known to DeepSpeed, not supported in this version",
                    key.reason.empty() ? "" : "; ",
                    key.reason),
             StatusCode::kUnsupported);
      break;
    case Standing::kInert:
      note(concat(given.name, ": no effect: ", decided_by, " is not true"));
      break;
    case Standing::kCovered:
      break;
  }
}

void Parser::apply_deprecated(const Key& key, const Given& given) {
  if (given.value == false) {
    note(concat(given.name, ": deprecated and without effect; use ", key.reason));
    return;
  }
  const Key* successor = find_key(key.reason);
  if (given_.contains(successor)) {
    refuse(concat(given.name, ": deprecated, and ", key.reason, " is given too; keep only that"));
    return;
  }
  store(*find_key(concat(key.reason, ".device")), "cpu", config_);
  note(concat(given.name, ": deprecated: taken as ", key.reason, " {\"device\": \"cpu\"}"));
}

void Parser::check_precision() {
  if (is_true("fp16.enabled") && is_true("bf16.enabled")) {
    refuse("bf16.enabled: fp16.enabled is true too; keep bf16, which this version supports");
  }
}

void Parser::check_optimizer() {
  const Given* type = given("optimizer.type");
  config_.has_optimizer = type != nullptr && !type->value.is_null();
  if (!config_.has_optimizer && !is_wrong("optimizer.type") &&
      given("optimizer.params") != nullptr) {
    refuse("optimizer.type: missing; optimizer.params needs one, for example \"AdamW\"");
  }
  const OptimizerConfig& optimizer = config_.optimizer;
  if (config_.has_optimizer && optimizer.kind == OptimizerKind::kAdamW && !optimizer.adam_w_mode) {
    note("optimizer.params.adam_w_mode: no effect: type AdamW always decouples the weight decay");
  }
}

void Parser::check_offload() {
  const std::string param = "zero_optimization.offload_param";
  const std::string optimizer = "zero_optimization.offload_optimizer";
  for (const auto& [path, offload] : {std::pair(param, &config_.zero.offload_param),
                                      std::pair(optimizer, &config_.zero.offload_optimizer)}) {
    const bool on_nvme = offload->device == OffloadDevice::kNvme;
    if (on_nvme && offload->nvme_path.empty() && !is_wrong(path + ".nvme_path")) {
      refuse(
          concat(path, ".nvme_path: missing; device \"nvme\" needs the folder of its swap files"));
    }
    if (!on_nvme && !offload->nvme_path.empty() && !is_wrong(path + ".device")) {
      note(concat(path, ".nvme_path: no effect: device is \"", to_string(offload->device), '"'));
    }
  }
  const OffloadConfig& parameters = config_.zero.offload_param;
  const OffloadConfig& states = config_.zero.offload_optimizer;
  if (parameters.device == OffloadDevice::kNvme && states.device == OffloadDevice::kNvme &&
      !parameters.nvme_path.empty() && !states.nvme_path.empty() &&
      parameters.nvme_path != states.nvme_path) {
    refuse(concat(optimizer,
                  ".nvme_path: \"",
                  states.nvme_path,
                  "\" is not that of offload_param, \"",
                  parameters.nvme_path,
                  "\"; this version keeps both in one folder: name the same one"),
           StatusCode::kUnsupported);
  }
  if (parameters.device != OffloadDevice::kNone && config_.zero.stage < 3 &&
      !is_wrong("zero_optimization.stage")) {
    refuse(concat(param,
                  ".device: \"",
                  to_string(parameters.device),
                  "\" needs stage 3, found stage ",
                  config_.zero.stage,
                  "; set \"stage\": 3 in zero_optimization, or leave offload_param out"));
  }
}

void Parser::derive_batch_sizes() {
  bool wrong = false;
  const auto number = [&](std::string_view path) -> std::optional<std::uint64_t> {
    const Given* found = given(path);
    wrong = wrong || (found != nullptr && found->wrong);
    return found == nullptr || found->value.is_null()
               ? std::nullopt
               : std::optional(found->value.get<std::uint64_t>());
  };
  const GivenBatch sizes{.train = number("train_batch_size"),
                         .micro = number("train_micro_batch_size_per_gpu"),
                         .accumulation_steps = number("gradient_accumulation_steps")};
  if (wrong) {
    return;
  }
  const Result<Batch> batch = derive_batch(sizes, ranks_);
  if (!batch.ok()) {
    refuse(batch.status().message());
    return;
  }
  config_.train_batch_size = batch.value().train;
  config_.train_micro_batch_size_per_gpu = batch.value().micro;
  config_.gradient_accumulation_steps = batch.value().accumulation_steps;
}

Status Parser::failure() const {
  const StatusCode code =
      only_unsupported_ ? StatusCode::kUnsupported : StatusCode::kInvalidArgument;
  if (errors_.size() == 1) {
    return {code, concat("configuration: ", errors_.front())};
  }
  std::string message = concat("configuration: ", errors_.size(), " errors:");
  for (std::size_t i = 0; i < std::min(errors_.size(), kErrorsMax); ++i) {
    message += "\n  " + errors_[i];
  }
  if (errors_.size() > kErrorsMax) {
    message += concat("\n  and ", errors_.size() - kErrorsMax, " more");
  }
  return {code, message};
}

}  // namespace

Result<Config> parse_json(const Json& root, std::uint64_t ranks) {
  return Parser(ranks).run(root);
}

}  // namespace stepwell::config
