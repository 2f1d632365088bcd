#pragma once

namespace trainer {

/// A function of a shared library that is loaded when it is first needed and stays loaded: `symbol`, declared
/// extern "C", of `file`, "libtrainer-onnx.so". The library is searched in the folder of the installed
/// program's modules, or of the build, then where the system has libraries. Error(failure) if it cannot be
/// loaded.
void* module_function(const char* file, const char* symbol);

}  // namespace trainer
