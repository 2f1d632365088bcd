#include "engine/config/setting.h"

#include <utility>

namespace trainer {
namespace {

Setting made(Setting::Kind kind, std::string name, std::string help) {
  Setting setting;
  setting.kind = kind;
  setting.name = std::move(name);
  setting.help = std::move(help);
  return setting;
}

}  // namespace

Setting::Setting() = default;
Setting::Setting(const Setting& other) = default;
Setting::Setting(Setting&& other) noexcept = default;
Setting& Setting::operator=(const Setting& other) = default;
Setting& Setting::operator=(Setting&& other) noexcept = default;
Setting::~Setting() = default;

Setting& Setting::at_least(double value) {
  minimum = value;
  above_minimum = false;
  return *this;
}

Setting& Setting::at_most(double value) {
  maximum = value;
  below_maximum = false;
  return *this;
}

Setting& Setting::above(double value) {
  minimum = value;
  above_minimum = true;
  return *this;
}

Setting& Setting::below(double value) {
  maximum = value;
  below_maximum = true;
  return *this;
}

Setting& Setting::or_word(std::string word) {
  choices.push_back(std::move(word));
  return *this;
}

Setting& Setting::fallback(std::string yaml) {
  default_yaml = std::move(yaml);
  required = false;
  return *this;
}
Setting& Setting::fallback_with(DefaultWith one) {
  default_with = std::move(one);
  return *this;
}

Setting& Setting::optional() {
  required = false;
  return *this;
}

Setting& Setting::exclusive_with(std::string key) {
  excludes = std::move(key);
  return *this;
}

Setting& Setting::formerly(std::string old_name) {
  former_name = std::move(old_name);
  return *this;
}

Setting& Setting::changeable() {
  may_change = true;
  return *this;
}

Setting boolean(std::string name, std::string help) {
  return made(Setting::Kind::boolean, std::move(name), std::move(help));
}

Setting integer(std::string name, std::string help) {
  return made(Setting::Kind::integer, std::move(name), std::move(help));
}

Setting real(std::string name, std::string help) {
  return made(Setting::Kind::real, std::move(name), std::move(help));
}

Setting text(std::string name, std::string help) {
  return made(Setting::Kind::text, std::move(name), std::move(help));
}

Setting choice(std::string name, std::string help, std::vector<std::string> choices) {
  Setting setting = made(Setting::Kind::choice, std::move(name), std::move(help));
  setting.choices = std::move(choices);
  return setting;
}

Setting integers(std::string name, std::string help, int count) {
  Setting setting = made(Setting::Kind::integers, std::move(name), std::move(help));
  setting.count = count;
  return setting;
}

Setting duration(std::string name, std::string help) {
  return made(Setting::Kind::duration, std::move(name), std::move(help));
}

Setting durations(std::string name, std::string help) {
  return made(Setting::Kind::durations, std::move(name), std::move(help));
}

Setting family(std::string name, std::string help, std::string family_name) {
  Setting setting = made(Setting::Kind::family, std::move(name), std::move(help));
  setting.family_name = std::move(family_name);
  return setting;
}

Setting list_of(std::string name, std::string help, Setting element) {
  Setting setting = made(Setting::Kind::list, std::move(name), std::move(help));
  setting.nested.push_back(std::move(element));
  return setting;
}

Setting section(std::string name, std::string help, std::vector<Setting> keys) {
  Setting setting = made(Setting::Kind::section, std::move(name), std::move(help));
  setting.nested = std::move(keys);
  return setting;
}

Setting either(std::string name, std::string help, std::vector<Setting> alternatives) {
  Setting setting = made(Setting::Kind::either, std::move(name), std::move(help));
  setting.nested = std::move(alternatives);
  return setting;
}

}  // namespace trainer
