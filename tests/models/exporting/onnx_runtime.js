// Runs models in ONNX Runtime and compares their outputs with expected ones.
//
// Usage: NODE_PATH=FOLDER/node_modules node onnx_runtime.js MODELS
// MODELS/models.json lists models: a file MODELS/FILE.onnx, the extents of its input, and whether that holds tokens;
// FILE.x and FILE.y are float32. Ends with 1 if an output differs by more than 1e-4 of the largest expected one.
const fs = require('fs');
const path = require('path');
const runtime = require('onnxruntime-node');

const folder = process.argv[2];

function floats(name) {
  const bytes = fs.readFileSync(path.join(folder, name));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function difference({file, extents, tokens}) {
  const session = await runtime.InferenceSession.create(path.join(folder, file + '.onnx'), {logSeverityLevel: 3});
  const x = floats(file + '.x'), expected = floats(file + '.y');
  const input = tokens ? new runtime.Tensor('int64', BigInt64Array.from(x, value => BigInt(value)), extents)
                       : new runtime.Tensor('float32', x, extents);
  const {output} = await session.run({input});
  if (output.dims[0] !== extents[0] || output.data.length !== expected.length) return NaN;
  let largest = 0, most = 0;
  for (const value of expected) largest = Math.max(largest, Math.abs(value));
  for (let i = 0; i < expected.length; ++i) {
    const apart = Math.abs(output.data[i] - expected[i]);
    most = apart <= most ? most : apart;  // NaN stays
  }
  return most / (largest || 1);
}

async function main() {
  let failures = 0;
  for (const model of JSON.parse(fs.readFileSync(path.join(folder, 'models.json')))) {
    let apart = NaN, why = '';
    try {
      apart = await difference(model);
    } catch (error) {
      why = error.message;
    }
    const passes = apart <= 1e-4;
    if (!passes) ++failures;
    console.log(`${passes ? 'equal ' : 'DIFFERS'} ${apart.toExponential(1)} ${model.name} ${why}`);
  }
  process.exit(failures > 0 ? 1 : 0);
}

main();
