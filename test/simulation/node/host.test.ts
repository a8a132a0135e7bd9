import { describe, expect, test } from '@jest/globals';
import { History, type Violation } from '../../../src/simulation/history.ts';
import { Host } from '../../../src/simulation/node/host.ts';
import type { Change } from '../../../src/simulation/plan/plan.ts';
import { newTally } from '../../../src/simulation/tally.ts';
import { ROOMY_NODE } from '../../../src/simulation/node/simulated-node-facts.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';

/** A node without faults by chance. */
function quietHost() {
  const clock = new VirtualClock();
  const tally = newTally();
  const violations: Violation[] = [];
  const lines: string[] = [];
  const host = new Host({
    nodeFacts: () => ROOMY_NODE,
    node: 1,
    clock,
    tally,
    random: () => 0.5,
    faults: new Set(),
    history: new History(
      () => clock.now(),
      (line) => lines.push(line),
    ),
    onViolation: (violation) => violations.push(violation),
  });
  let operations = 0;
  const apply = (name: string, change: Change) =>
    host.apply({ number: ++operations, atMs: 0, node: 1, name, change });
  const create = (name: string, spec: PodSpec) => apply(name, { kind: 'create', source: 'file', spec });
  return { clock, tally, violations, lines, host, apply, create };
}

test('a pod of which nothing may start again does not keep the agent busy', async () => {
  const { clock, tally, violations, host, create } = quietHost();
  create('job', {
    restartPolicy: 'Never',
    enableServiceLinks: true,
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

describe('a change that waits for a call', () => {
  const RUNS: PodSpec = {
    enableServiceLinks: true,
    containers: [{ name: 'main', image: 'registry.example/app:1', command: ['run'] }],
  };
  const ambush = { kind: 'ambush', call: 'StartContainer' } as const;

  test('is made while that call is in flight', async () => {
    const { clock, violations, lines, host, apply, create } = quietHost();
    apply('web', { ...ambush, change: { kind: 'remove' } });
    create('web', RUNS);
    await clock.advance(60_000);
    const steps = ['CreateContainer main: done', '#1 comes', 'Draining', 'StartContainer uid-2.c1: done'];
    const places = steps.map((step) => lines.findIndex((line) => line.includes(step)));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(host.sources.pods).toEqual([]);
    expect(violations).toEqual([]);
  });

  test('concerns its own pod alone, and is dropped when the faults stop', async () => {
    const { clock, host, apply, create } = quietHost();
    apply('web', { ...ambush, change: { kind: 'remove' } });
    create('other', RUNS);
    await clock.advance(60_000);
    host.stopFaults();
    create('web', RUNS);
    await clock.advance(60_000);
    expect(host.sources.pods.map(({ metadata }) => metadata.name)).toEqual(['other', 'web']);
  });
});
