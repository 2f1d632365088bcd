#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/config/config.h"
#include "engine/config/setting.h"

namespace trainer {

/// What is declared: families by name, each with its members by name. Filled before main() by Registry::Add.
class Catalog {
 public:
  struct Family {
    std::map<std::string, Declaration> members;
    std::vector<Setting> shared;  ///< settings that every member takes (a layer's name and init)
  };

  static Catalog& all();

  Family& family(const std::string& name) { return families_[name]; }
  /// Throws logic_error for a family that nobody declared.
  const Family& at(const std::string& name) const;
  const std::map<std::string, Family>& families() const { return families_; }

 private:
  std::map<std::string, Family> families_;
};

/// One factory for every family. Product::kFamily names it ("layer"); Context is what a maker needs besides
/// its settings.
template <class Product, class... Context>
class Registry {
 public:
  using Make = std::function<std::unique_ptr<Product>(const Config&, Context...)>;

  /// A namespace-scope object of this type in a member's .cpp adds the member before main().
  struct Add {
    Add(Declaration declaration, Make make) {
      const std::string name = declaration.name;
      Catalog::all().family(Product::kFamily).members.emplace(name, std::move(declaration));
      if (!makers().emplace(name, std::move(make)).second)
        throw std::logic_error("two members named " + name + " in " + Product::kFamily);
    }
  };

  static std::unique_ptr<Product> make(const Config& config, Context... context) {
    return makers().at(config.type())(config, std::forward<Context>(context)...);
  }

 private:
  static std::map<std::string, Make>& makers() {
    static std::map<std::string, Make> all;
    return all;
  }
};

}  // namespace trainer
