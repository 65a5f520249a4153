#include "src/config/schema.h"

#include <unordered_map>

namespace stepwell::config {
namespace {

constexpr std::string_view kOptionalPrefix = "stage3_";

std::vector<Key> assemble() {
  std::vector<Key> all;
  for (const std::span<const Key> slice :
       {engine_keys(), zero_keys(), unsupported_keys(), data_keys()}) {
    all.insert(all.end(), slice.begin(), slice.end());
  }
  return all;
}

using Index = std::unordered_map<std::string, const Key*>;

Index make_index() {
  Index index;
  const auto add = [&index](std::string name, const Key& key) {
    const bool is_new = index.emplace(std::move(name), &key).second;
    STEPWELL_CHECK(
        is_new, "two rows of the configuration table answer to one name: " + std::string(key.path));
  };
  for (const Key& key : keys()) {
    add(std::string(key.path), key);
    if (!key.alias.empty()) {
      add(std::string(key.alias), key);
    }
    const std::string_view leaf = leaf_of(key.path);
    if (leaf.starts_with(kOptionalPrefix)) {
      add(std::string(parent_of(key.path)) + "." + std::string(leaf.substr(kOptionalPrefix.size())),
          key);
    }
  }
  return index;
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> table = assemble();
  return table;
}

const Key* find_key(std::string_view path) {
  static const Index index = make_index();
  const auto found = index.find(std::string(path));
  return found == index.end() ? nullptr : found->second;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> list;
  while (!choices.empty()) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    list.push_back(choices.substr(0, bar));
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return list;
}

}  // namespace stepwell::config
