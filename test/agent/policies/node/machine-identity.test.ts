import { describe, expect, test } from '@jest/globals';
import {
  isAbandoned,
  type LeaseSighting,
  type MachineIdentity,
  otherMachine,
  type Ownership,
  seenLease,
} from '../../../../src/agent/policies/node/machine-identity.ts';
import { NO_NODE_INFO } from '../../../../src/agent/policies/node/machine-resources.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { IDENTITY, OTHER_IDENTITY } from '../../../support/machine-facts.ts';

const UNWRITTEN: Ownership = { writtenUid: undefined, mayTakeOver: false };
const WRITTEN: Ownership = { writtenUid: 'a', mayTakeOver: false };

const nodeOf = (identity: Partial<MachineIdentity>): Node => ({
  metadata: { name: 'node-1', uid: 'a' },
  status: { nodeInfo: { ...NO_NODE_INFO, ...identity } },
});

describe('a Node object that this agent has not written yet', () => {
  test.each([
    ['has no status', { metadata: { name: 'node-1' } }],
    ['names no machine', nodeOf({})],
    ['names this machine', nodeOf(IDENTITY)],
    ['names this machine before it was started anew', nodeOf({ ...IDENTITY, bootID: 'boot-0' })],
    [
      'has another machine ID: the system was installed anew',
      nodeOf({ ...OTHER_IDENTITY, systemUUID: 'system-a' }),
    ],
    ['has another system UUID: the disk was moved', nodeOf({ ...OTHER_IDENTITY, machineID: 'machine-a' })],
    ['does not say its system UUID', nodeOf({ machineID: 'machine-b', bootID: 'boot-2' })],
  ] as const)('is of this machine if it %s', (_, node) => {
    expect(otherMachine(node, IDENTITY, UNWRITTEN)).toBeUndefined();
  });

  test('is of another machine if both differ, and says of which', () => {
    expect(otherMachine(nodeOf(OTHER_IDENTITY), IDENTITY, UNWRITTEN)).toBe(
      'machine ID machine-b, system UUID system-b, boot ID boot-2',
    );
  });

  test('is not judged by a machine that does not know itself', () => {
    const unknown = { machineID: '', systemUUID: '', bootID: '' };
    expect(otherMachine(nodeOf(OTHER_IDENTITY), unknown, UNWRITTEN)).toBeUndefined();
  });

  test('may be taken over from a machine that has stopped', () => {
    const silent = { writtenUid: undefined, mayTakeOver: true };
    expect(otherMachine(nodeOf(OTHER_IDENTITY), IDENTITY, silent)).toBeUndefined();
  });
});

describe('a Node object that this agent has written', () => {
  test.each(['machineID', 'systemUUID', 'bootID'] as const)(
    'was written by another machine if its %s differs',
    (key) => {
      const node = nodeOf({ ...IDENTITY, [key]: OTHER_IDENTITY[key] });
      expect(otherMachine(node, IDENTITY, WRITTEN)).toContain(OTHER_IDENTITY[key]);
    },
  );

  test('is of this machine as long as it names it', () => {
    expect(otherMachine(nodeOf(IDENTITY), IDENTITY, WRITTEN)).toBeUndefined();
  });

  test('and that was made anew since counts as not written', () => {
    const node = nodeOf({ ...IDENTITY, bootID: 'boot-0' });
    expect(otherMachine(node, IDENTITY, { ...WRITTEN, writtenUid: 'former' })).toBeUndefined();
  });
});

describe('the lease of another machine', () => {
  /** At one version, each time. */
  function seenAt(...times: readonly number[]): LeaseSighting {
    const [first = 0, ...later] = times;
    return later.reduce((seen, now) => seenLease(seen, '1', now), seenLease(undefined, '1', first));
  }

  test('is abandoned when it has stayed the same for its duration, by the clock of this machine', () => {
    const seen = seenAt(1_000, 11_000, 21_000, 31_000);
    expect([isAbandoned(seen, 40, 40_999), isAbandoned(seen, 40, 41_000)]).toEqual([false, true]);
  });

  test('is not abandoned because the clock of this machine was set forward', () => {
    const hourLater = 3_600_000;
    expect(isAbandoned(seenAt(1_000, hourLater), 40, hourLater)).toBe(false);
    expect(isAbandoned(seenAt(1_000, hourLater, hourLater + 10_000), 40, hourLater + 10_000)).toBe(false);
  });

  test('begins anew with each renewal, and when it is deleted', () => {
    const first = seenLease(undefined, '1', 1_000);
    expect(seenLease(first, '2', 30_000)).toEqual({ version: '2', since: 30_000, looks: 1 });
    expect(seenLease(first, undefined, 30_000)).toEqual({ version: undefined, since: 30_000, looks: 1 });
  });
});
