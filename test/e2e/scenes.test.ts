/** The scenes of `examples` go as their README files say, with the commands that stand there. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { type Daemon, DaemonBed, statelet, stateOf } from '../support/daemon.ts';

const examples = fileURLToPath(new URL('../../examples/', import.meta.url));
const PATIENCE_MS = 150_000;

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
    PATIENCE_MS,
  );

test(
  'eviction: the pod that eats memory goes first, the modest one later, the critical one never',
  async () => {
    const folder = join(examples, 'eviction/pods');
    const daemon = await bed.run([...flagsOf('eviction'), '--pods', folder]);
    await daemon.running('critical');
    const eater = await ended(daemon, 'eater', 'Evicted');
    expect(eater.status).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('The node was low on resource: memory. '),
    });
    await ended(daemon, 'modest', 'Evicted');
    const { stdout } = await statelet('pods', '--root-dir', bed.rootDir);
    expect(stdout).toMatch(/^default +eater .* Evicted /mu);
    expect(stdout).toMatch(/^default +critical +1\/1 +Running /mu);
    const { stdout: explained } = await statelet('explain-eviction', '--root-dir', bed.rootDir);
    expect(explained).toMatch(/critical .* never: it is critical/u);
    expect(await daemon.end()).toBe(0);

    const next = await bed.run([...flagsOf('eviction'), '--pods', folder]);
    expect((await ended(next, 'eater', 'Evicted')).status).toEqual(eater.status);
    await next.running('critical');
  },
  2 * PATIENCE_MS,
);

test(
  'preemption: the less important pod ends for the critical one, and stays ended',
  async () => {
    cpSync(join(examples, 'preemption/pods'), bed.manifestDir, { recursive: true });
    const daemon = await bed.run([...flagsOf('preemption'), '--pods', bed.manifestDir]);
    await daemon.running('reports');
    await daemon.running('cleaner');
    cpSync(join(examples, 'preemption/later/critical.yaml'), join(bed.manifestDir, 'critical.yaml'));
    await daemon.running('critical');
    expect((await ended(daemon, 'cleaner', 'Preempting')).status?.phase).toBe('Failed');
    await daemon.running('reports');
  },
  PATIENCE_MS,
);
