// Walks the whole table: every row does what its effect says.
#include "src/config/schema.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/format.h"
#include "src/config/value.h"

namespace stepwell::config {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

/// A configuration in which every implemented key may take another value.
Json base_config() {
  return Json::parse(R"({"train_micro_batch_size_per_gpu": 1,
                         "optimizer": {"type": "Adam"}, "zero_optimization": {"stage": 3}})");
}

Json& at_path(Json& root, std::string_view path) {
  std::string pointer = "/" + std::string(path);
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return root[Json::json_pointer(pointer)];
}

/// A value that `key` takes and that is neither its default nor what the engine does anyway.
Json other_value(const Key& key) {
  const Json standard = key.type == Type::kSection ? Json() : default_of(key);
  switch (key.type) {
    case Type::kSection:
    case Type::kAny:
      return Json{{"x", 1}};
    case Type::kBool:
      return key.always.empty() ? standard != true : key.always != "true";
    case Type::kInteger:
      return standard.is_number() && standard > 0 && standard.get<double>() * 2 <= key.maximum
                 ? Json(standard.get<std::uint64_t>() / 2 +
                        (standard.get<std::uint64_t>() == 1) * 2)
                 : Json(2);
    case Type::kNumber:
      return standard.is_number() ? standard.get<double>() / 2 + 0.25 : 0.25;
    case Type::kText:
      for (const std::string_view choice : split_choices(key.choices)) {
        if (choice != standard) {
          return choice;
        }
      }
      return "other";
    case Type::kBytes:
      return "3MiB";
    case Type::kBetas:
      return Json::parse("[0.5, 0.25]");
    case Type::kDevices:
      return Json::parse(
          R"([{"path": "/x", "read_bytes_per_second": 2, "write_bytes_per_second": 1},
                             {"path": "/y", "read_bytes_per_second": 2, "write_bytes_per_second": 3}])");
    case Type::kList:
      return Json::parse("[1, 2, 3]");
  }
  return {};
}

std::vector<Key> rows_with(Effect effect) {
  std::vector<Key> rows;
  for (const Key& key : keys()) {
    if (key.effect == effect) {
      rows.push_back(key);
    }
  }
  return rows;
}

TEST(Schema, RowsAreWellFormed) {
  EXPECT_GT(keys().size(), 250U);
  for (const Key& key : keys()) {
    EXPECT_EQ(find_key(key.path), &key);
    const std::string_view parent = parent_of(key.path);
    if (!parent.empty()) {
      ASSERT_NE(find_key(parent), nullptr) << key.path;
      EXPECT_EQ(find_key(parent)->type, Type::kSection) << key.path;
    }
    const bool is_value = key.effect == Effect::kImplemented && key.type != Type::kSection;
    EXPECT_EQ(key.field != nullptr, is_value) << key.path;
    if (!key.default_text.empty()) {
      default_of(key);  // checks that the default is a value of the key
    }
    const bool has_reason = key.effect == Effect::kAccepted || key.effect == Effect::kRemoved ||
                            key.effect == Effect::kDeprecated;
    EXPECT_TRUE(!has_reason || !key.reason.empty()) << key.path;
    EXPECT_TRUE(key.effect == Effect::kRemoved || !key.meaning.empty()) << key.path;
    EXPECT_EQ(key.path.find('|'), std::string_view::npos);
  }
}

TEST(Schema, EveryImplementedKeyChangesTheResult) {
  const std::string before = Config::parse(base_config().dump()).value().to_json();
  for (const Key& key : rows_with(Effect::kImplemented)) {
    if (key.type == Type::kSection) {
      continue;
    }
    Json root = base_config();
    // The default of the optimizer's type is no optimizer; the base has Adam.
    at_path(root, key.path) = key.path == "optimizer.type" ? Json("AdamW") : other_value(key);
    const Result<Config> config = Config::parse(root.dump());
    ASSERT_TRUE(config.ok()) << key.path << ": " << config.status().to_string();
    EXPECT_NE(config.value().to_json(), before) << key.path;
  }
}

TEST(Schema, EveryAcceptedKeyLeavesANote) {
  for (const Key& key : rows_with(Effect::kAccepted)) {
    Json root = base_config();
    at_path(root, key.path) = other_value(key);
    const Result<Config> config = Config::parse(root.dump());
    ASSERT_TRUE(config.ok()) << key.path << ": " << config.status().to_string();
    EXPECT_THAT(config.value().notes, Contains(HasSubstr(std::string(key.path) + ": no effect")));
    if (!key.always.empty()) {
      at_path(root, key.path) = Json::parse(key.always);
      EXPECT_TRUE(Config::parse(root.dump()).value().notes.empty()) << key.path;
    }
  }
}

/// The message and the notes for `root`, whichever there are.
std::string answer_to(const Json& root) {
  const Result<Config> config = Config::parse(root.dump());
  std::string text = config.status().message();
  if (config.ok()) {
    for (const std::string& note : config.value().notes) {
      text += note + "\n";
    }
  }
  return text;
}

TEST(Schema, EveryRefusedKeyIsNamedUnlessItAsksForNothing) {
  for (const Key& key : rows_with(Effect::kRefused)) {
    const bool covered = find_key(parent_of(key.path)) != nullptr &&
                         find_key(parent_of(key.path))->effect == Effect::kRefused;
    if (covered) {
      continue;  // the section is refused as a whole
    }
    Json root = base_config();
    at_path(root, key.path) = default_of(key);
    EXPECT_EQ(answer_to(root), "") << key.path;
    at_path(root, key.path) = key.type == Type::kSection ? Json::object() : other_value(key);
    EXPECT_THAT(answer_to(root),
                AnyOf(HasSubstr(concat(key.path, ": known to DeepSpeed, not supported")),
                      HasSubstr(concat(key.path, ": no effect"))));
  }
}

TEST(Schema, ASwitchedOnSectionIsRefusedOnce) {
  int gates = 0;
  for (const Key& gate : keys()) {
    if (!gate.gate) {
      continue;
    }
    ++gates;
    Json root = base_config();
    const std::string_view section = parent_of(gate.path);
    for (const Key& key : keys()) {
      if (parent_of(key.path) == section && key.type != Type::kSection) {
        at_path(root, key.path) = other_value(key);
      }
    }
    at_path(root, gate.path) = true;
    for (std::string_view outer = parent_of(section); !outer.empty(); outer = parent_of(outer)) {
      const std::string outer_gate = std::string(outer) + ".enabled";
      if (find_key(outer_gate) != nullptr) {
        at_path(root, outer_gate) = false;
      }
    }
    const std::string answer = answer_to(root);
    const bool is_nested = section.find('.') != std::string_view::npos;
    EXPECT_THAT(answer,
                HasSubstr(concat(gate.path, is_nested ? ": no effect" : ": known to DeepSpeed")));
    EXPECT_EQ(Config::parse(root.dump()).ok(), is_nested) << answer;
    EXPECT_EQ(answer.find("errors:"), std::string::npos) << answer;
  }
  EXPECT_GT(gates, 10);
}

TEST(Schema, RemovedKeysAreRefusedWhateverTheirValue) {
  for (const Key& key : rows_with(Effect::kRemoved)) {
    for (const Json& value : {Json(), Json(false), Json{{"enabled", false}}}) {
      Json root = base_config();
      at_path(root, key.path) = value;
      const Status status = Config::parse(root.dump()).status();
      EXPECT_EQ(status.code(), StatusCode::kUnsupported) << key.path;
      EXPECT_THAT(status.message(), HasSubstr(concat(key.path, ": refused: ", key.reason)));
    }
  }
}

TEST(Schema, EveryWrongTypeNamesKeyExpectedAndFound) {
  for (const Key& key : keys()) {
    if (key.type == Type::kAny || key.effect == Effect::kRemoved) {
      continue;
    }
    Json root = base_config();
    at_path(root, key.path) = key.type == Type::kBool ? Json("true") : Json(false);
    if (key.path == "zero_optimization") {
      at_path(root, key.path) = 3;
    }
    EXPECT_THAT(answer_to(root), HasSubstr(concat(key.path, ": expected "))) << key.path;
    EXPECT_THAT(answer_to(root), HasSubstr("found ")) << key.path;
  }
}

TEST(Schema, SpellingsOfOneKeyExcludeEachOther) {
  const char* const texts[] = {R"({"train_batch_size": 1, "bf16": {}, "bfloat16": {}})",
                               R"({"train_batch_size": 1, "zero_optimization":
          {"prefetch_bucket_size": 1, "stage3_prefetch_bucket_size": 1}})"};
  for (const char* text : texts) {
    EXPECT_THAT(Config::parse(text).status().message(), HasSubstr("the same key is given as"));
  }
}

}  // namespace
}  // namespace stepwell::config
