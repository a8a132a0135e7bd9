/** The scenes of `examples` go as their README files say, with the commands that stand there. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { type Daemon, DaemonBed, statelet, stateOf } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';

const examples = fileURLToPath(new URL('../../examples/', import.meta.url));

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

/** The flags of the command in the README, without those of the place: the test has places of its own. */
function flagsOf(scene: string): string[] {
  const readme = readFileSync(join(examples, scene, 'README.md'), 'utf8');
  const command = /^npx statelet run (.*?[^\\])$/msu.exec(readme)?.[1] ?? '';
  const words = command.replaceAll(/\\\n|'/gu, ' ').split(/\s+/u);
  const ofPlace = ['--root-dir', '--healthz-port', '--pods'];
  return words.filter((word, i) => !ofPlace.includes(word) && !ofPlace.includes(words[i - 1] ?? ''));
}

const ended = (daemon: Daemon, name: string, reason: string) =>
  daemon.until(
    name,
    reason,
    (pod: Pod) => stateOf(pod) === 'Terminated.Finished' && pod.status?.reason === reason,
  );

test('eviction: the pod that eats memory goes first, the modest one later, the critical one never', async () => {
  const folder = join(examples, 'eviction/pods');
  const daemon = await bed.run([...flagsOf('eviction'), '--pods', folder]);
  await daemon.running('critical');
  const eater = await ended(daemon, 'eater', 'Evicted');
  expect(eater.status).toMatchObject({
    phase: 'Failed',
    message: expect.stringContaining('The node was low on resource: memory. '),
  });
  await ended(daemon, 'modest', 'Evicted');
  expect(await why('modest', /How it was chosen: memory\.available .*: default\/modest .* goes/)).toMatch(
    /^default\/modest has ended at .*, phase Failed: Evicted: The node was low on resource: memory\. /,
  );
  await why('node', /under pressure: MemoryPressure\.\n[^]*Evicted last: default\/modest\./);
  const { stdout } = await statelet('pods', '--root-dir', bed.rootDir);
  expect(stdout).toMatch(/^default +eater .* Evicted /mu);
  expect(stdout).toMatch(/^default +critical +1\/1 +Running /mu);
  const { stdout: explained } = await statelet('explain-eviction', '--root-dir', bed.rootDir);
  expect(explained).toMatch(/critical .* never: it is critical/u);
  expect(await daemon.end()).toBe(0);

  const next = await bed.run([...flagsOf('eviction'), '--pods', folder]);
  expect((await ended(next, 'eater', 'Evicted')).status).toEqual(eater.status);
  await next.running('critical');
});

test('preemption: the less important pod ends for the critical one, and stays ended', async () => {
  cpSync(join(examples, 'preemption/pods'), bed.manifestDir, { recursive: true });
  const daemon = await bed.run([...flagsOf('preemption'), '--pods', bed.manifestDir]);
  await daemon.running('reports');
  await daemon.running('cleaner');
  cpSync(join(examples, 'preemption/later/critical.yaml'), join(bed.manifestDir, 'critical.yaml'));
  await daemon.running('critical');
  expect((await ended(daemon, 'cleaner', 'Preempting')).status?.phase).toBe('Failed');
  const forWhom = /preempted for \S+\/critical\b/;
  expect(await why('cleaner', forWhom)).toMatch(
    /^default\/cleaner has ended at .*, phase Failed: preempted for /,
  );
  rmSync(join(bed.manifestDir, 'cleaner.yaml'));
  expect(await why('cleaner', /does not come back: its source/)).toMatch(forWhom);
  await daemon.running('reports');
});

/** The record is written a little later. */
async function why(pod: string, wanted: RegExp): Promise<string> {
  let answer = '';
  await waitFor(
    async () => {
      answer = (await statelet('why', '--root-dir', bed.rootDir, pod)).stdout;
      return wanted.test(answer);
    },
    { what: `the answer ${String(wanted)} of ${pod}`, pauseMs: 100 },
  );
  return answer;
}

/** As its README says, in a process of its own that knows the agent by its root folder. */
function startPlugin(): ChildProcess {
  return spawn(process.execPath, [join(examples, 'eviction-plugin/oldest-first.ts')], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, STATELET_ROOT_DIR: bed.rootDir },
  });
}

test('eviction-plugin: the older of two reclaimed pods goes, as the plugin says, and what is not reclaimed stays', async () => {
  const scene = join(examples, 'eviction-plugin');
  cpSync(join(scene, 'pods'), bed.manifestDir, { recursive: true });
  const plugin = startPlugin();
  const exited = once(plugin, 'exit');
  try {
    const daemon = await bed.run([...flagsOf('eviction-plugin'), '--pods', bed.manifestDir]);
    const registered = 'The eviction plugin oldest-first is registered';
    await daemon.logged('the plugin to be registered', ({ msg }) => msg.startsWith(registered));
    const { status } = await daemon.running('batch-1');
    // Times of pods are whole seconds: of the same second, neither would be the older one.
    const startedMs = Date.parse(status?.startTime ?? '');
    await waitFor(() => Date.now() >= startedMs + 1000, { what: 'another second' });
    cpSync(join(scene, 'later/batch-2.yaml'), join(bed.manifestDir, 'batch-2.yaml'));
    const gone = await ended(daemon, 'batch-1', 'Evicted');
    expect(gone.status).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('it is the oldest of 2 reclaimed pods, and 1 may stay'),
    });
    await daemon.running('batch-2');
    await daemon.running('web');
    const { stdout } = await statelet('explain-eviction', '--root-dir', bed.rootDir);
    expect(stdout).toMatch(/^oldest-first +Serving /mu);

    plugin.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await daemon.logged('the plugin to be gone', ({ msg }) => /oldest-first.*gone/u.test(msg));
  } finally {
    plugin.kill('SIGKILL');
    await exited;
  }
});
