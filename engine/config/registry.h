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
  /// Returns the member's name. Throws logic_error for a name that the family has already.
  std::string add(const std::string& family, Declaration member);
  /// Throws logic_error for a family without a declaration.
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
  class Add {
   public:
    Add(Declaration declaration, Make make)
        : name_(Catalog::all().add(Product::kFamily, std::move(declaration))), make_(std::move(make)) {
      last_ = this;
    }
    Add(const Add&) = delete;
    Add& operator=(const Add&) = delete;

   private:
    friend Registry;
    std::string name_;
    Make make_;
    const Add* before_ = last_;
  };

  static std::unique_ptr<Product> make(const Config& config, Context... context) {
    for (const Add* member = last_; member; member = member->before_)
      if (member->name_ == config.type()) return member->make_(config, std::forward<Context>(context)...);
    throw std::logic_error("no " + std::string(Product::kFamily) + " named " + config.type());
  }

 private:
  inline static const Add* last_ = nullptr;  ///< a list: a map would be compiled for every member
};

}  // namespace trainer
