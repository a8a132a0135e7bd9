/**
 * The longest time that manifests block the event loop: the CPU time of the longest turn, on the production agent with a
 * simulated runtime. For comparison: one `JSON.parse` of the same number of pods in the same process.
 * `npm run bench:manifests -- [--pods 1000] [--kib 9] [--quick]`. `--quick`: 200 pods.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMs, LoopMeter } from './support/loop-meter.ts';
import { ManifestAgent } from './support/manifest-agent.ts';
import { benchOptions } from './support/options.ts';
import { type Compared, printTable } from './support/table.ts';

/** Time until work in the background has ended: writes to the disk, and pods that end. */
const SETTLING_MS = 1_000;
const NODE_NAME = 'node1';
/** As many as one pod can have. */
const CONTAINERS = 6_000;

const { pods, kib } = benchOptions(
  {
    pods: { usual: 1_000, quick: 200 },
    /** The size of each pod of the large manifest. */
    kib: { usual: 9, quick: 9 },
  },
  {},
);

const text = (name: string, size: number) => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  annotations: {about: "${'.'.repeat(Math.max(0, size - 300))}"}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - {name: main, image: registry.example/app:1, command: [run], env: [{name: NAME, value: ${name}}]}
`;
const numbered = (kind: string) => Array.from({ length: pods }, (_, index) => `${kind}-${index}`);
const running = (...names: string[]) => new Set(names.map((name) => `${name}-${NODE_NAME}`));

const agent = new ManifestAgent(3 * pods + 2);
const prepared = join(agent.dir, 'prepared');
const small = join(agent.dir, 'small');
for (const folder of [prepared, small, agent.manifests]) mkdirSync(folder);
const large = numbered('large').map((name) => text(name, kib * 1024));
writeFileSync(join(prepared, 'first.yaml'), text('first', 8 * 1024));
writeFileSync(join(prepared, 'large.yaml'), large.join('---\n'));
const others = [text('other', kib * 1024), ...large.slice(1)];
writeFileSync(join(prepared, 'changed.yaml'), others.join('---\n'));
for (const name of numbered('small')) writeFileSync(join(small, `${name}.yaml`), text(name, 0));
const containers = Array.from({ length: CONTAINERS }, (_, index) => ({ name: `c${index}`, image: 'app:1' }));
const crowd = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'crowd' }, spec: { containers } };
writeFileSync(join(prepared, 'crowd.json'), JSON.stringify(crowd));
const moveIn = (name: string, as = name) => renameSync(join(prepared, name), join(agent.manifests, as));

const steps: [what: string, run: () => Promise<unknown>][] = [
  ['the agent starts, with an empty folder', () => agent.runs(new Set())],
  [
    'the first manifest, of 8 KiB',
    () => {
      moveIn('first.yaml');
      return agent.runs(running('first'));
    },
  ],
  [
    `one manifest of ${pods} pods, ${kib} KiB each`,
    () => {
      moveIn('large.yaml');
      return agent.runs(running('first', ...numbered('large')));
    },
  ],
  [
    'another pod in place of one of them',
    () => {
      moveIn('changed.yaml', 'large.yaml');
      return agent.runs(running('first', 'other', ...numbered('large').slice(1)));
    },
  ],
  ['/pods is asked', () => agent.listLength()],
  [
    `a pod of ${CONTAINERS} containers`,
    () => {
      moveIn('crowd.json');
      return agent.runs(running('first', 'other', 'crowd', ...numbered('large').slice(1)));
    },
  ],
  [
    'it ends',
    () => {
      rmSync(join(agent.manifests, 'crowd.json'));
      return agent.runs(running('first', 'other', ...numbered('large').slice(1)));
    },
  ],
  [
    `${pods} small manifests in their place`,
    () => {
      renameSync(agent.manifests, join(agent.dir, 'former'));
      renameSync(small, agent.manifests);
      return agent.runs(running(...numbered('small')));
    },
  ],
];

const meter = new LoopMeter();
const found: { what: string; longestMs: number }[] = [];
for (const [what, run] of steps) {
  meter.take();
  await run();
  await delay(SETTLING_MS);
  found.push({ what, longestMs: meter.take() });
  process.stderr.write(`${what}\n`);
}
meter.stop();
const json = JSON.stringify(large.map((content) => ({ metadata: { annotations: { content } } })));
const before = process.threadCpuUsage();
JSON.parse(json);
const parseMs = cpuMs(before);
const beside = `JSON.parse of ${pods} pods`;
const rows = found.map(({ what, longestMs }): [string, Compared] => [
  `${what} (ms)`,
  { figure: longestMs, beside, itsFigure: parseMs },
]);
console.log(`longest turn of the event loop, by its CPU time; load average ${loadavg()[0]?.toFixed(1)}`);
printTable(Object.fromEntries(rows));
await agent.stop();
process.exit(0);
