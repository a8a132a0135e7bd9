import { describe, expect, test } from '@jest/globals';
import {
  type NameClaim,
  nameDelay,
  preemptionDelay,
  releaseName,
  REMOVAL_DELAY,
  requestName,
  roomDelay,
  runtimeDelay,
} from '../../../../src/agent/policies/admission/start-delay.ts';

const podOf = (name: string) => ({ name, namespace: 'default', uid: `uid-${name}` });

test.each([
  [
    'UnexpectedAdmissionError',
    'Allocate failed due to not enough cpus available to satisfy request: requested=4, available=2, which is unexpected',
    'it asks for 4 CPUs of its own, and 2 are free',
  ],
  [
    'SMTAlignmentError',
    'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2',
    'it asks for 4 CPUs in whole cores, and 2 in whole cores are free',
  ],
  [
    'TopologyAffinityError',
    'Resources cannot be allocated with Topology locality',
    "do not lie together as the node's topology policy requires",
  ],
])(
  'a pod that waits after a %s says what it lacks, with the words of the kubelet',
  (reason, message, lack) => {
    const delay = roomDelay({ reason, message });
    expect(delay.message).toContain(lack);
    expect(delay.message).toContain(`(${message})`);
  },
);

describe('a pod that has not been started waits for', () => {
  test('the container runtime, with its problem', () => {
    const { reason, message } = runtimeDelay('network plugin is not ready');
    expect(reason).toBe('RuntimeNotReady');
    expect(message).toContain('network plugin is not ready');
  });

  test('the removal of an earlier pod of its UID', () => {
    expect(REMOVAL_DELAY.reason).toBe('RemovingFormerPod');
  });

  test('another pod with its name, which is named with its UID', () => {
    const { reason, message } = nameDelay(podOf('web'));
    expect(reason).toBe('NameTaken');
    expect(message).toContain('default/web (UID uid-web)');
  });

  test('resources, with the reason and the message of its rejection', () => {
    const { reason, message } = roomDelay({ reason: 'OutOfcpu', message: 'cpu, requested: 2' });
    expect(reason).toBe('OutOfcpu');
    expect(message).toContain('cpu, requested: 2');
  });

  test.each([
    ['cpu=300m', ['a'], 'waits for cpu=300m; default/a is ending for it'],
    ['cpu=300m', ['a', 'b'], 'waits for cpu=300m; default/a, default/b are ending for it'],
    ['', ['a'], 'waits for room; default/a is ending for it'],
  ])('%s and the end of its victims %j', (missing, names, want) => {
    expect(preemptionDelay(missing, names.map(podOf))).toEqual({ reason: 'MakingRoom', message: want });
  });
});

const claim = (holder: string, ...waiting: string[]): NameClaim => ({ holder, waiting });

describe('requesting a full name (10, I6)', () => {
  test('10: the first pod that asks gets it', () => {
    expect(requestName(undefined, 'a')).toEqual({ claim: claim('a'), granted: 'a' });
  });

  test('10: the second pod waits for the holder', () => {
    expect(requestName(claim('a'), 'b')).toEqual({ claim: claim('a', 'b') });
  });

  test('10: the third pod waits behind the second', () => {
    expect(requestName(claim('a', 'b'), 'c')).toEqual({ claim: claim('a', 'b', 'c') });
  });

  test('10: the holder that asks again gets it again, and the queue stays', () => {
    expect(requestName(claim('a', 'b'), 'a')).toEqual({ claim: claim('a', 'b'), granted: 'a' });
  });

  test('10: a waiting pod that asks again keeps its place', () => {
    expect(requestName(claim('a', 'b', 'c'), 'b')).toEqual({ claim: claim('a', 'b', 'c') });
  });
});

describe('releasing a full name (10, I6)', () => {
  test('10: the first in the queue gets it, and the others move up', () => {
    expect(releaseName(claim('a', 'b', 'c'), 'a')).toEqual({ claim: claim('b', 'c'), granted: 'b' });
  });

  test('10: without a queue the name is free', () => {
    expect(releaseName(claim('a'), 'a')).toEqual({ claim: undefined });
  });

  test('10: a pod that was deleted while it waited is skipped', () => {
    const { claim: left, granted } = releaseName(claim('a', 'b', 'c'), 'b');
    expect([left, granted]).toEqual([claim('a', 'c'), undefined]);
    expect(releaseName(left, 'a').granted).toBe('c');
  });

  test('I6: a pod that neither holds the name nor waits cannot release it', () => {
    expect(releaseName(claim('a', 'b'), 'c')).toEqual({ claim: claim('a', 'b') });
  });

  test('a name without a holder stays free', () => {
    expect(releaseName(undefined, 'a')).toEqual({ claim: undefined });
  });
});

test('10: pods get the name in the order in which they asked', () => {
  const uids = ['a', 'b', 'c', 'd', 'e'];
  let current: NameClaim | undefined;
  const started: (string | undefined)[] = [];
  for (const uid of uids) {
    const decision = requestName(current, uid);
    current = decision.claim;
    if (decision.granted) started.push(decision.granted);
  }
  while (current) {
    const decision = releaseName(current, current.holder);
    current = decision.claim;
    if (decision.granted) started.push(decision.granted);
  }
  expect(started).toEqual(uids);
});
