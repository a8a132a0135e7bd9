import { expect, test } from '@jest/globals';
import { History } from '../../src/simulation/history.ts';
import { Host } from '../../src/simulation/host.ts';
import type { Violation } from '../../src/simulation/judge.ts';
import { newTally } from '../../src/simulation/tally.ts';
import { VirtualClock } from '../../src/simulation/virtual-clock.ts';
import type { PodSpec } from '../../src/types/kubernetes.ts';

/** A node on which nothing goes wrong but what the test does to it. */
function quietHost() {
  const clock = new VirtualClock();
  const tally = newTally();
  const violations: Violation[] = [];
  const host = new Host({
    ...{ node: 1, clock, tally, random: () => 0.5, faults: new Set() },
    history: new History(() => clock.now()),
    onViolation: (violation) => violations.push(violation),
  });
  const create = (name: string, spec: PodSpec) =>
    host.apply({ number: 1, atMs: 0, node: 1, name, change: { kind: 'create', source: 'file', spec } });
  return { clock, tally, violations, host, create };
}

test('a pod of which nothing may be started again does not keep the agent busy', async () => {
  const { clock, tally, violations, host, create } = quietHost();
  create('job', {
    restartPolicy: 'Never',
    initContainers: [{ name: 'init', image: 'registry.example/app:1', command: ['succeed'] }],
    containers: [{ name: 'main', image: 'registry.example/missing:1' }],
  });
  await clock.advance(5_000);
  const [sandbox] = host.runtime.sandboxesOf('uid-1');
  host.runtime.killSandbox(sandbox!.id);
  await clock.advance(5_000);
  const { calls } = tally;
  await clock.advance(600_000);
  expect(violations).toEqual([]);
  expect(tally.calls - calls).toBeLessThan(1_000);
});
