/**
 * A process that uses the embedded runtime. A test kills it:
 * `node runtime-client.ts <root dir> <JSON of container configs>` runs one pod with these containers, prints the ids as
 * a line of JSON, and stays.
 */
import { join } from 'node:path';
import { createProcessRuntime } from '../../src/embedded/process-runtime.ts';
import type { ContainerConfig } from '../../src/types/cri.ts';
import { podConfig } from './runtime-configs.ts';

const [, , rootDir = '', configs = '[]'] = process.argv;
const runtime = createProcessRuntime({ rootDir });
const sandbox = podConfig(join(rootDir, 'pods'));
const sandboxId = await runtime.runPodSandbox(sandbox);
const ids: string[] = [];
for (const config of JSON.parse(configs) as ContainerConfig[]) {
  const id = await runtime.createContainer(sandboxId, config, sandbox);
  await runtime.startContainer(id);
  ids.push(id);
}
console.log(JSON.stringify({ sandboxId, ids, logDirectory: sandbox.logDirectory }));
setInterval(() => undefined, 1000);
