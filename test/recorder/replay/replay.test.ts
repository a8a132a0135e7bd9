/** Records of simulated runs, replayed by the charts that made them and by charts that were changed. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type AnyStateMachine, createMachine } from 'xstate';
import type { Difference } from '../../../src/recorder/replay/replayed-actor.ts';
import { machineOf, recordOf, replayed } from './support.ts';

/** `SEEDS=300,301` tries other seeds. */
const SEEDS = process.env.SEEDS?.split(',').map(Number) ?? [2, 3, 5, 6];
const CHARTS = ['pod', 'supervisor', 'probe', 'eviction', 'evictionPlugins', 'plugin', 'preemption'].concat([
  ...['node', 'lease', 'statusWriter', 'taints'],
]);

describe('a record that is replayed by the charts that made it', () => {
  test.each(SEEDS)('shows no difference, and is replayed whole: seed %d, all faults', async (seed) => {
    const record = await recordOf({ seed }, 700);
    const { transitions, differences, notReplayed } = replayed(record);
    expect(transitions).toBeGreaterThan(1_000);
    expect({ differences, notReplayed }).toEqual({ differences: [], notReplayed: {} });
    expect(record.length / transitions).toBeLessThan(150);
  });
});

type Config = Record<string, unknown>;

/** The chart with a part of its configuration changed: that at the path. */
function changed(chart: string, path: readonly string[], change: (part: Config) => Config): AnyStateMachine {
  const machine = machineOf(chart);
  const walk = (part: Config, [key, ...rest]: readonly string[]): Config =>
    key === undefined ? change(part) : { ...part, [key]: walk(part[key] as Config, rest) };
  const config = walk(machine.config as Config, path);
  return createMachine(config as never, machine.implementations as never);
}

describe('a record of a crashed agent, replayed by other charts', () => {
  let record = '';
  beforeAll(async () => {
    record = await recordOf({ seed: 4 });
  });
  const differencesOf = (chart: string, machine: AnyStateMachine) =>
    replayed(record, { [chart]: machine }).differences;
  const found = ({ event, from, recorded, now }: Difference) => ({
    ...{ event, from },
    recorded: recorded?.to,
    now: now?.to,
  });

  test('has transitions of these charts', () => {
    for (const chart of CHARTS) expect(record).toContain(`"chart":"${chart}"`);
    expect(replayed(record)).toMatchObject({ differences: [], notReplayed: {} });
  });

  test('reports a guard that decides otherwise, once for each decision', () => {
    const machine = machineOf('pod').provide({ guards: { moreToDo: () => false } } as never);
    const differences = differencesOf('pod', machine);
    const decisions = record.match(/^\{"kind".*"guard":"moreToDo"/gmu)?.length ?? 0;
    expect(decisions).toBeGreaterThan(0);
    expect(differences.length).toBeGreaterThanOrEqual(decisions);
    for (const { recorded, now } of differences) {
      expect(recorded?.guard).toBe('moreToDo');
      expect(now?.guard).toBeUndefined();
    }
  });

  test('reports another target, and goes on from where the record went', () => {
    const machine = changed('pod', ['states', 'Terminated', 'states', 'CleaningUp', 'on'], (on) => ({
      ...on,
      CLEANUP_DONE: { target: 'BackingOff' },
    }));
    const differences = differencesOf('pod', machine);
    expect(differences.length).toBeGreaterThan(0);
    for (const difference of differences)
      expect(found(difference)).toEqual({
        event: 'CLEANUP_DONE',
        from: 'Terminated.CleaningUp',
        recorded: 'Terminated.Finished',
        now: 'Terminated.BackingOff',
      });
  });

  test('reports an assign that is missing, and assigns it nevertheless', () => {
    const settled = ['states', 'Syncing', 'states', 'Settled', 'on'];
    const machine = changed('pod', settled, (on) => ({ ...on, SyncPodKill: { target: '#pod.Terminating' } }));
    const differences = differencesOf('pod', machine);
    expect(differences.length).toBeGreaterThan(0);
    for (const difference of differences) {
      expect(difference).toMatchObject({ event: 'SyncPodKill', from: 'Syncing.Settled' });
      expect(difference.recorded?.actions).toEqual(expect.arrayContaining(['recordTermination']));
      expect(difference.now?.actions).not.toContain('recordTermination');
    }
  });

  test('reports an event that changes nothing any more, and a guard that throws', () => {
    const waiting = ['states', 'Waiting', 'after'];
    const deaf = changed('lease', waiting, () => ({}));
    const [first] = differencesOf('lease', deaf);
    expect(first && found(first)).toEqual({
      event: 'xstate.after.renewal.lease.Waiting',
      from: 'Waiting',
      recorded: 'Renewing',
      now: undefined,
    });
    const throwing = machineOf('eviction').provide({
      guards: {
        isShort: () => {
          throw new Error('a defect');
        },
      },
    } as never);
    const failures = differencesOf('eviction', throwing);
    expect(failures.length).toBeGreaterThan(0);
    for (const { event, error } of failures) {
      expect(event).toBe('EVALUATED');
      expect(error).toContain('a defect');
    }
  });

  test('reports automatic steps that are new, and those that are missing', () => {
    const silent = changed('statusWriter', ['states', 'Writing'], (state) => ({ ...state, always: [] }));
    const [missing] = differencesOf('statusWriter', silent);
    expect(missing).toMatchObject({ from: 'Writing', now: undefined });
    const eager = changed('taints', ['states', 'BackingOff'], (state) => ({ ...state, always: 'Settled' }));
    const [more] = differencesOf('taints', eager);
    expect(more).toMatchObject({ recorded: undefined, now: { from: 'BackingOff', to: 'Settled' } });
  });

  test('says what it cannot replay, and why', () => {
    const without = replayed(record, { pod: undefined });
    expect(Object.keys(without.notReplayed)).toEqual(['this version has no such chart']);
    const renamed = record.replaceAll('"Renewing"', '"Writing"');
    expect(Object.keys(replayed(renamed).notReplayed)).toContain('this version has no such state');
    const old = record.replaceAll(/"state":.*\}$/gmu, '"old":1}');
    expect(replayed(old)).toMatchObject({ differences: [] });
    expect(Object.keys(replayed(old).notReplayed)).toEqual(['its beginning was not recorded']);
    const kinds = [...record.matchAll(/^\{"kind":(\d+),"chart":"pod","event":"RUNTIME_READY"/gmu)];
    const [, number = ''] = kinds[0] ?? [];
    const gap = record.replaceAll(new RegExp(String.raw`^\[\d+,\d+,${number}\]$`, 'gmu'), '');
    expect(replayed(gap).differences).toEqual([]);
    expect(Object.keys(replayed(gap).notReplayed)).toContain('something is missing in the record');
  });
});
