import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { logsBelow, managerStates } from '../../scripts/compare/places.ts';

describe('the logs of a pod', () => {
  let dir = '';
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-places-'));
    mkdirSync(join(dir, 'main'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const write = (number: number, text: string) =>
    writeFileSync(join(dir, 'main', `${number}.log`), `2026-01-02T03:04:05.678Z stdout F ${text}\n`);

  test('are the first two of a container, by number', () => {
    for (const number of [0, 1, 2]) write(number, `run ${number}`);
    expect(logsBelow(dir, [], new Set())).toEqual({
      'main/0': ['stdout F run 0'],
      'main/1': ['stdout F run 1'],
    });
  });

  test('are the oldest one that is left, of a container that is restarting', () => {
    for (const number of [9, 10]) write(number, `run ${number}`);
    expect(logsBelow(dir, [], new Set(['main']))).toEqual({ 'main/ended': ['stdout F run 9'] });
  });

  test('are none where there is no folder', () => {
    expect(logsBelow(join(dir, 'none'), [], new Set())).toEqual({});
  });
});

test('managers of CPUs and memory count where they have a policy', () => {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-places-'));
  const write = (file: string, state: object) => writeFileSync(join(dir, file), JSON.stringify(state));
  write('cpu_manager_state', { policyName: 'none', defaultCpuSet: '' });
  expect(managerStates(dir)).toEqual({});
  const state = { policyName: 'Static', machineState: {} };
  write('memory_manager_state', { ...state, checksum: 1 });
  expect(managerStates(dir)).toEqual({ memory_manager_state: state });
  rmSync(dir, { recursive: true });
});
