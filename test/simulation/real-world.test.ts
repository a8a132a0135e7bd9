/** A simulation asks nothing of the machine it runs on: what takes real time would make histories differ. */
import { createHook } from 'node:async_hooks';
import { expect, test } from '@jest/globals';
import { DRIVER_KINDS } from '../../src/simulation/drivers/driver-kinds.ts';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate, type SimulationOptions } from '../../src/simulation/simulation.ts';

/** With all kinds of nodes at once, and pods that have volumes and claims of drivers. */
const OPTIONS: SimulationOptions = {
  seed: 5,
  nodes: 3,
  pods: 6,
  hours: 0.2,
  faults: ALL_FAULTS,
  drivers: DRIVER_KINDS,
};

/** What waits for no machine and no real time. */
const INNER = new Set(['PROMISE', 'Immediate', 'Microtask', 'TickObject']);

test('no file, socket, process or real timer is used, and a seed has one history', async () => {
  // Modules that are loaded when they are first used are loaded now.
  const { digest, tally } = await simulate(OPTIONS);
  expect(tally.volumesPublished).toBeGreaterThan(0);
  expect(tally.claimsPrepared).toBeGreaterThan(0);
  const outer = new Map<string, number>();
  const hook = createHook({
    init: (_, type) => {
      if (!INNER.has(type)) outer.set(type, (outer.get(type) ?? 0) + 1);
    },
  });
  hook.enable();
  const again = await simulate(OPTIONS).finally(() => hook.disable());
  expect([...outer]).toEqual([]);
  expect(again.digest).toBe(digest);
});
