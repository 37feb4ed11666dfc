// Speed of a forward pass in ONNX Runtime, as bench/net/forward_bench.cc measures ours:
//
//   node forward_onnxruntime.js RUNTIME MODEL.onnx BATCH SECONDS CxHxW
//
// RUNTIME is the folder of onnxruntime-node. One thread, random pixels, the best of several rounds; with LWSVM_CLOCK=cpu
// seconds of the processor, all threads of node together. Prints one JSON object; `base_bytes` is what node alone takes.
'use strict';

function clock() {
  if (process.env.LWSVM_CLOCK !== 'cpu') return Number(process.hrtime.bigint()) * 1e-9;
  const usage = process.cpuUsage();
  return (usage.user + usage.system) * 1e-6;
}

const peak = () => process.resourceUsage().maxRSS * 1024;

async function main() {
  const [runtime, file, batch, seconds, shape] = process.argv.slice(2);
  const ort = require(runtime);
  const base = peak();
  const session = await ort.InferenceSession.create(
    file, {intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', logSeverityLevel: 3});
  const dims = [Number(batch), ...shape.split('x').map(Number)];
  const pixels = Float32Array.from({length: dims.reduce((a, b) => a * b)}, () => 2 * Math.random() - 1);
  const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', pixels, dims)};
  await session.run(feeds);
  // A round lasts a millisecond at least: the processor's clock counts microseconds.
  const first = clock();
  await session.run(feeds);
  const runs = Math.max(1, Math.ceil(1e-3 / Math.max(clock() - first, 1e-6)));
  let best = Infinity;
  for (const start = clock(); clock() - start < Number(seconds);) {
    const before = clock();
    for (let i = 0; i < runs; ++i) await session.run(feeds);
    best = Math.min(best, (clock() - before) / runs);
  }
  console.log(JSON.stringify({samples_per_second: dims[0] / best, peak_bytes: peak(), base_bytes: base}));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
