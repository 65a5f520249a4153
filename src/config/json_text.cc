#include "src/config/json_text.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/format.h"

namespace stepwell::config {
namespace {

constexpr std::size_t kNone = std::string::npos;

/// One pass over the text that knows strings from what is outside them.
class Blanker {
 public:
  explicit Blanker(const std::string& text) : text_(text) {}

  Status run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '#' || text_.compare(at_, 2, "//") == 0) {
        blank_to(std::min(text_.find('\n', at_), text_.size()));
      } else if (text_.compare(at_, 2, "/*") == 0) {
        STEPWELL_RETURN_IF_ERROR(blank_block());
      } else {
        take(c);
      }
    }
    return {};
  }

  std::string text() && { return std::move(text_); }

 private:
  void skip_string() {
    note('"');
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      }
    }
    ++at_;
  }

  void blank_to(std::size_t end) {
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') {
        text_[at_] = ' ';
      }
    }
  }

  Status blank_block() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == kNone) {
      const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at_), '\n');
      return {StatusCode::kInvalidArgument,
              concat("line ", line, ": the comment that begins here has no end; add */")};
    }
    blank_to(end + 2);
    return {};
  }

  void take(char c) {
    if ((c == '}' || c == ']') && comma_ != kNone) {
      text_[comma_] = ' ';
    }
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      note(c);
    }
    ++at_;
  }

  /// Remembers a comma that follows a value: the only one that may be dropped.
  void note(char c) {
    const bool follows_value = last_ != '\0' && last_ != '{' && last_ != '[' && last_ != ',';
    comma_ = c == ',' && follows_value ? at_ : kNone;
    last_ = c;
  }

  std::string text_;
  std::size_t at_ = 0;
  std::size_t comma_ = kNone;  // a comma with nothing but blanks after it so far
  char last_ = '\0';           // last character that is neither blank nor comment
};

/// Builds the value and looks for duplicate keys and depth on the way. Returning false ends the
/// parse.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const std::string& text) : text_(text) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    open_.back().key = name;
    if (open_.back().value.contains(name)) {
      errors_.push_back(concat(path(), ": the key occurs twice in its object; keep one"));
    }
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& /*last_token*/,
                   const nlohmann::detail::exception& error) override {
    // The library's text is "[name] parse error at line 2, column 3: cause" (its column is wrong
    // after a number that ends a line) or "[name] cause".
    std::string_view cause = error.what();
    const std::size_t place = cause.find(": ");
    const std::size_t bracket = cause.find("] ");
    const bool has_place = cause.find("at line ") < place;
    cause.remove_prefix(has_place ? place + 2 : bracket == kNone ? 0 : bracket + 2);
    // What it calls "last read" may begin before the token; the place says it better.
    const std::size_t quote = cause.find("; last read: '");
    const std::size_t expected = cause.find("; expected ", quote);
    errors_.push_back(concat(place_of(position),
                             ": ",
                             cause.substr(0, quote),
                             expected == kNone ? "" : cause.substr(expected)));
    return false;
  }

  const std::vector<std::string>& errors() const { return errors_; }
  Json value() && { return std::move(root_); }

 private:
  struct Frame {
    Json value;
    std::string key;  // the key that the next value belongs to
  };

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_object()) {
      open_.back().value[open_.back().key] = std::move(value);
    } else {
      open_.back().value.push_back(std::move(value));
    }
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kDepthMax) {
      errors_.push_back(concat(path(), ": nested deeper than ", kDepthMax, " levels"));
      return false;
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  /// Line and column, from one, of the last of the `read` bytes.
  std::string place_of(std::size_t read) const {
    const std::size_t at = std::max<std::size_t>(std::min(read, text_.size() + 1), 1) - 1;
    const std::string_view before = std::string_view(text_).substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return concat("line ", line, ", column ", at - line_begin + 1);
  }

  std::string path() const {
    std::string path;
    for (const Frame& frame : open_) {
      path += (path.empty() || frame.key.empty() ? "" : ".") + frame.key;
    }
    return path;
  }

  const std::string& text_;
  Json root_;
  std::vector<Frame> open_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<std::string> blank_comments(const std::string& text) {
  Blanker blanker(text);
  STEPWELL_RETURN_IF_ERROR(blanker.run());
  return std::move(blanker).text();
}

Result<Json> read_json(const std::string& text) {
  Result<std::string> plain = blank_comments(text);
  STEPWELL_RETURN_IF_ERROR(plain.status());
  Builder builder(plain.value());
  const bool whole = Json::sax_parse(plain.value(), &builder);
  if (!builder.errors().empty()) {
    std::string message;
    for (const std::string& error : builder.errors()) {
      message += (message.empty() ? "" : "\n") + error;
    }
    return Status(StatusCode::kInvalidArgument, message);
  }
  STEPWELL_CHECK(whole, "the JSON parser stopped without an error");
  return std::move(builder).value();
}

}  // namespace stepwell::config
