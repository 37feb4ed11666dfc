// Runs ONNX models with ONNX Runtime, the judge of our files.
//
//   node onnx_scores.js RUNTIME JOBS.json
//
// RUNTIME is the folder of onnxruntime-node. JOBS.json is a list of {model, input, shape, output}: `input` holds raw
// float32 numbers of the given shape (batch first), and the model's first output is written to `output` the same way.
'use strict';
const fs = require('fs');

async function main() {
  const [runtime, jobs] = process.argv.slice(2);
  const ort = require(runtime);
  for (const job of JSON.parse(fs.readFileSync(jobs))) {
    const options = {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3};
    const session = await ort.InferenceSession.create(job.model, options);
    const bytes = fs.readFileSync(job.input);
    const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', numbers, job.shape)};
    const scores = (await session.run(feeds))[session.outputNames[0]].data;
    fs.writeFileSync(job.output, Buffer.from(scores.buffer, scores.byteOffset, scores.byteLength));
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
