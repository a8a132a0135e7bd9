import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readMachine } from '../../../../src/agent/runtime/cpus/read-topology.ts';
import { machine, MACHINES, writeMachine } from '../../../support/cpu-machine.ts';

test.each(Object.keys(MACHINES))('%s is read from its files', async (name) => {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-cpus-'));
  try {
    writeMachine(dir, name);
    const { cpus, numa } = await readMachine(dir);
    expect(cpus).toEqual(machine(name));
    expect(numa.ids).toEqual(machine(name).nodes);
    expect(numa.distances).toHaveLength(numa.ids.length);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
