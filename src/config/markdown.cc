#include <algorithm>
#include <sstream>

#include "src/config/schema.h"

namespace stepwell::config {
namespace {

const char* name_of(Type type) {
  switch (type) {
    case Type::kSection:
      return "object";
    case Type::kBool:
      return "bool";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kText:
      return "text";
    case Type::kBytes:
      return "bytes";
    case Type::kDevices:
      return "list of devices";
    case Type::kBetas:
    case Type::kList:
      return "list";
    case Type::kAny:
      return "any";
  }
  return "";
}

std::string choices_text(const Key& key) {
  std::string text;
  for (const std::string_view choice : split_choices(key.choices)) {
    text += (text.empty() ? "" : ", ") + std::string(choice);
  }
  return text.empty() ? name_of(key.type) : text;
}

void write_implemented(std::ostream& out) {
  out << "| key | value | default | unit | what it does, what it costs |\n"
         "| --- | --- | --- | --- | --- |\n";
  for (const Key& key : keys()) {
    if (key.field != nullptr) {
      out << "| `" << key.path << "` | " << choices_text(key) << " | "
          << (key.default_text == "null" ? "" : key.default_text) << " | " << key.unit << " | "
          << key.meaning << " |\n";
    }
  }
}

void write_accepted(std::ostream& out) {
  out << "| key | in DeepSpeed | why it has no effect here |\n| --- | --- | --- |\n";
  for (const Key& key : keys()) {
    if (key.effect == Effect::kAccepted) {
      out << "| `" << key.path << "` | " << key.meaning << " | " << key.reason << " |\n";
    }
  }
}

/// Whether the section of `key` has a row of its own that decides over it.
bool is_covered(const Key& key) {
  return std::any_of(keys().begin(), keys().end(), [&key](const Key& other) {
    const bool decides = other.effect == Effect::kRefused && &other != &key;
    const std::string_view section = other.gate ? parent_of(other.path) : other.path;
    return decides && (other.gate || other.type == Type::kSection) &&
           key.path.starts_with(section) && key.path[section.size()] == '.';
  });
}

void write_refused(std::ostream& out) {
  out << "| key | accepted only as | in DeepSpeed | instead |\n| --- | --- | --- | --- |\n";
  for (const Key& key : keys()) {
    if (key.effect == Effect::kRefused && !is_covered(key)) {
      out << "| `" << key.path << "` | " << key.default_text << " | " << key.meaning << " | "
          << key.reason << " |\n";
    }
  }
}

void write_gone(std::ostream& out) {
  out << "| key | instead |\n| --- | --- |\n";
  for (const Key& key : keys()) {
    if (key.effect == Effect::kRemoved || key.effect == Effect::kDeprecated) {
      out << "| `" << key.path << "` | "
          << (key.effect == Effect::kDeprecated ? "deprecated; " : "") << key.reason << " |\n";
    }
  }
}

}  // namespace

std::string schema_markdown() {
  std::ostringstream out;
  out << "### Keys that have an effect\n\n";
  write_implemented(out);
  out << "\n### Keys accepted without effect\n\nEach leaves a line in `Config::notes`, unless it "
         "asks for what happens anyway.\n\n";
  write_accepted(out);
  out << "\n### Keys of DeepSpeed that this version refuses\n\nWhere a section has a key `enabled` "
         "(or `deepcompile`), its other keys are accepted as long as that is false.\n\n";
  write_refused(out);
  out << "\n### Keys that are gone\n\n";
  write_gone(out);
  return std::move(out).str();
}

}  // namespace stepwell::config
