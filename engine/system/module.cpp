#include "engine/system/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "engine/core/error.h"

namespace trainer {

void* module_function(const char* file, const char* symbol) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, symbol);
  if (function == nullptr) {
    const char* const reason = dlerror();
    throw Error(
        ExitCode::failure, fmt::format("cannot load {}: {}", file, reason == nullptr ? "" : reason),
        "install the library that is missing; `meson install` puts those of trainer beside the program");
  }
  return function;
}

}  // namespace trainer
