/**
 * What the flight recorder and an open page cost a real daemon: the CPU time that it takes for the life of a pod on the embedded runtime,
 * which starts a process for it and ends it. Three daemons in turns: one without a record, one with it, and one with it and an open
 * page. `npm run bench:recorder-daemon -- [--pods 10] [--rounds 10]`.
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
  options: { pods: { type: 'string', default: '10' }, rounds: { type: 'string', default: '10' } },
});
const [pods, rounds] = [Number(values.pods), Number(values.rounds)];
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

const beds = {
  without: new Bed('without', ['--flight-recorder-size', '0']),
  recorder: new Bed('recorder', []),
  both: new Bed('both', []),
};
type Name = keyof typeof beds;
const names = Object.keys(beds) as Name[];
const costs: Record<Name, number[]> = { without: [], recorder: [], both: [] };
for (const { daemon } of Object.values(beds)) await daemon.ready();
await beds.both.openPage();
for (let index = -1; index < rounds; index++) {
  for (const name of index % 2 === 0 ? names : names.toReversed()) {
    const cost = await beds[name].lives();
    if (index >= 0) costs[name].push(cost);
  }
}
const base = median(costs.without);
process.stdout.write(
  `CPU time of the daemon for a life, ${pods} pods at a time, ${rounds} rounds; medians\n`,
);
for (const name of names) {
  const own = median(costs[name]);
  const pairs = median(costs[name].map((cost, index) => cost / (costs.without[index] ?? NaN) - 1));
  process.stdout.write(
    `  ${name.padEnd(8)} ${own.toFixed(1)} ms: ${((own / base - 1) * 100).toFixed(1)} % more, of the pairs of rounds ${(pairs * 100).toFixed(1)} %; least ${Math.min(...costs[name]).toFixed(1)} ms\n`,
  );
}
for (const { daemon } of Object.values(beds)) await daemon.end();
rmSync(folder, { recursive: true });
process.exit(0);
