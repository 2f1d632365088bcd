#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainer {

struct Declaration;

/// One key that a YAML map may hold: the single source for the checker, `trainer config`, the JSON Schema and
/// the key reference in docs. Made by the functions below; required unless fallback() or optional() is
/// called.
struct Setting {
  enum class Kind {
    boolean,
    integer,
    real,
    text,
    choice,     ///< one of `choices`
    integers,   ///< `count` integers, or one that stands for all of them: kernel: 5 or kernel: [3, 5]
    duration,   ///< {epochs: n} or {steps: n}
    durations,  ///< {epochs: [n, ...]} or {steps: [n, ...]}
    family,     ///< one member of the family `family_name`: a text, or a map with one key
    list,       ///< `nested` has the setting of its elements
    section,    ///< a map with the keys in `nested`; a single key "*" stands for any
    either      ///< the first setting in `nested` whose form fits
  };

  /// Another default where the member at a path, such as model.loss, is `member`.
  struct DefaultWith {
    std::string path, member, yaml;
  };

  std::string name;
  std::string help;  ///< one line without a full stop
  Kind kind = Kind::text;
  bool required = true;
  std::string default_yaml;  ///< YAML text, e.g. "0.01" or "{uniform: 0.1}"; empty when there is none
  std::optional<DefaultWith> default_with;
  std::optional<double> minimum, maximum;
  bool above_minimum = false;  ///< the minimum itself is outside
  bool below_maximum = false;
  std::vector<std::string> choices;  ///< for `choice`; for other kinds, words accepted besides (pad: same)
  int count = 0;
  std::string family_name;
  std::string excludes;         ///< a key that cannot stand beside this one: train.epochs and train.steps
  std::string former_name;      ///< a key that is refused with a message that names this one
  bool may_change = false;      ///< another value may be given to a resumed run
  std::vector<Setting> nested;  ///< element of a list; keys of a section; alternatives of either

  // Out of line: the source of every member of a family makes and destroys settings.
  Setting();
  Setting(const Setting& other);
  Setting(Setting&& other) noexcept;
  Setting& operator=(const Setting& other);
  Setting& operator=(Setting&& other) noexcept;
  ~Setting();

  Setting& at_least(double value);
  Setting& at_most(double value);
  Setting& above(double value);
  Setting& below(double value);
  Setting& or_word(std::string word);
  Setting& fallback(std::string yaml);
  Setting& fallback_with(DefaultWith one);
  Setting& optional();
  /// Exactly one of the two keys is written; giving one in a later layer (-s, base) takes the other out.
  Setting& exclusive_with(std::string key);
  /// Refuses the key's former name with an error that names the key of today.
  Setting& formerly(std::string old_name);
  /// A resumed run may have another value.
  Setting& changeable();
};

Setting boolean(std::string name, std::string help);
Setting integer(std::string name, std::string help);
Setting real(std::string name, std::string help);
Setting text(std::string name, std::string help);
Setting choice(std::string name, std::string help, std::vector<std::string> choices);
Setting integers(std::string name, std::string help, int count);
Setting duration(std::string name, std::string help);
Setting durations(std::string name, std::string help);
Setting family(std::string name, std::string help, std::string family_name);
Setting list_of(std::string name, std::string help, Setting element);
Setting section(std::string name, std::string help, std::vector<Setting> keys);
Setting either(std::string name, std::string help, std::vector<Setting> alternatives);

/// A member of a family (a layer type, an optimizer ...): its name, one help line, and its settings.
struct Declaration {
  std::string name;
  std::string help;
  std::string primary =
      {};  ///< the setting that `name: value` stands for when value is not a map of settings
  std::vector<Setting> settings = {};
  std::string former_name = {};  ///< refused with a message that names the member of today
};

}  // namespace trainer
