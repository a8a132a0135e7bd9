/**
 * What the flight recorder and an open page cost a real daemon: the CPU time that it takes for the life of a pod on the embedded runtime,
 * which starts a process for it and ends it. Three daemons do the same at the same time, so that what else the machine does counts for
 * all: one without a record, one with it, and one with it and an open page. They are started anew several times, since code is not
 * compiled the same each time. `npm run bench:recorder-daemon -- [--pods 10] [--rounds 15] [--generations 3]`.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Daemon } from '../test/support/daemon.ts';
import { fineCpuMs, median } from './support/measures.ts';
import { readPage } from './support/page-reader.ts';
import { pause } from './support/steady-lives.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '15' },
    generations: { type: 'string', default: '3' },
  },
});
const [pods, rounds, generations] = [values.pods, values.rounds, values.generations].map(Number) as [
  number,
  number,
  number,
];
const WARM_UP_ROUNDS = 3;
const POLL_MS = 50;
/** Until what follows an end is done. */
const SETTLE_MS = 500;
const PAGE = 'the page of this node';

const folder = mkdtempSync(join(tmpdir(), 'statelet-bench-'));

class Bed {
  readonly daemon: Daemon;
  readonly #manifests: string;
  readonly #prepared: string;
  readonly #marks: string;
  readonly #podsDir: string;

  constructor(name: string, flags: readonly string[]) {
    const [root, ...folders] = ['root', 'manifests', 'prepared', 'marks'].map((part) =>
      join(folder, name, part),
    ) as [string, string, string, string];
    for (const path of folders) mkdirSync(path, { recursive: true });
    [this.#manifests, this.#prepared, this.#marks] = folders;
    this.#podsDir = join(root, 'pods');
    for (let index = 0; index < pods; index++) {
      const command = ['sh', '-c', `touch ${this.#marks}/${index}; exec sleep 100000`];
      const spec = { terminationGracePeriodSeconds: 5, containers: [{ name: 'main', command }] };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${index}` }, spec };
      writeFileSync(join(this.#prepared, `pod-${index}.json`), JSON.stringify(pod));
    }
    const fixed = ['--pod-manifest-path', this.#manifests, '--ui=127.0.0.1:0', '--exit-with-pods'];
    this.daemon = new Daemon(root, [...fixed, ...flags], {});
  }

  async openPage(): Promise<void> {
    const line = await this.daemon.logged(PAGE, ({ msg }) => msg.startsWith(PAGE));
    await readPage(`${(line as { url?: string }).url ?? ''}ui/overview`);
  }

  /** The CPU time of the daemon for one life, in ms. */
  async lives(): Promise<number> {
    const before = fineCpuMs(this.daemon.pid);
    this.#move(this.#prepared, this.#manifests);
    while (readdirSync(this.#marks).length < pods) await pause(POLL_MS);
    await pause(SETTLE_MS);
    this.#move(this.#manifests, this.#prepared);
    while (readdirSync(this.#podsDir).length > 0) await pause(POLL_MS);
    await pause(SETTLE_MS);
    for (const mark of readdirSync(this.#marks)) rmSync(join(this.#marks, mark));
    return (fineCpuMs(this.daemon.pid) - before) / pods;
  }

  #move(from: string, to: string): void {
    for (const name of readdirSync(from)) renameSync(join(from, name), join(to, name));
  }
}

const FLAGS = { without: ['--flight-recorder-size', '0'], recorder: [], both: [] };
type Name = keyof typeof FLAGS;
const names = Object.keys(FLAGS) as Name[];
const costs: Record<Name, number[]> = { without: [], recorder: [], both: [] };

async function generation(index: number): Promise<void> {
  const beds = names.map((name) => [name, new Bed(`${name}-${index}`, FLAGS[name])] as const);
  for (const [name, bed] of beds) {
    await bed.daemon.ready();
    if (name === 'both') await bed.openPage();
  }
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const measured = await Promise.all(beds.map(([, bed]) => bed.lives()));
    if (round >= 0) for (const [at, cost] of measured.entries()) costs[names[at] ?? 'both'].push(cost);
  }
  for (const [, { daemon }] of beds) await daemon.end();
}

for (let index = 0; index < generations; index++) await generation(index);
process.stdout.write(
  `CPU time of the daemon for a life, ${pods} pods at a time, ${generations} times ${rounds} rounds; means\n`,
);
for (const name of names) {
  const shares = costs[name].map((cost, index) => cost / (costs.without[index] ?? NaN) - 1);
  process.stdout.write(
    `  ${name.padEnd(8)} ${mean(costs[name]).toFixed(2)} ms: ${((mean(costs[name]) / mean(costs.without) - 1) * 100).toFixed(1)} % more; of the rounds ${(mean(shares) * 100).toFixed(1)} % (error of the mean ${(errorOfMean(shares) * 100).toFixed(1)}), median ${(median(shares) * 100).toFixed(1)} %\n`,
  );
}
rmSync(folder, { recursive: true });
process.exit(0);

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function errorOfMean(numbers: readonly number[]): number {
  const middle = mean(numbers);
  const squares = numbers.map((one) => (one - middle) ** 2);
  return Math.sqrt(mean(squares) / (numbers.length - 1));
}
