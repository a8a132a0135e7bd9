import { describe, expect, test } from '@jest/globals';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import type { CallUnderWay, SandboxTruth } from '../../../../src/simulation/runtime/witness.ts';
import {
  localUID,
  PodObjectJudge,
  type PodObjectTruth,
} from '../../../../src/simulation/judges/api/pod-object-judge.ts';
import type { Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { container, sandbox } from '../lifecycle-judge-bed.ts';

const UID = 'uid-1';

interface Truth extends Partial<Omit<PodObjectTruth, 'runtime'>> {
  readonly sandboxes?: readonly SandboxTruth[];
  readonly calls?: readonly CallUnderWay[];
}

function bed({ sandboxes = [], calls = [], ...more }: Truth = {}) {
  const reported: string[] = [];
  const judge = new PodObjectJudge({
    truth: {
      runtime: () => ({
        sandboxesOf: () => sandboxes,
        inFlight: () => calls,
        isRunning: () => sandboxes.length > 0,
      }),
      isMounted: () => false,
      mayRunUnknown: () => false,
      isForeign: () => false,
      wasMadeAgain: () => false,
      wasChosen: () => false,
      ...more,
    },
    violated: (invariant, { uid }, what) => reported.push(`${invariant} ${uid}: ${what}`),
  });
  return { judge, reported };
}

const pod = (status: PodStatus, more: Parameters<typeof testPod>[0] = {}): Pod => ({
  ...testPod({ uid: UID, ...more }),
  status,
});
const RUNNING = [sandbox(true, container('c1', { state: 'CONTAINER_RUNNING' }))];
const starting = (name: CallUnderWay['name']) => ({ name, uid: UID }) as CallUnderWay;

describe('the object of a pod is deleted', () => {
  const ended = pod({ phase: 'Succeeded' }, { deleted: true });

  test('when nothing is left of the pod', () => {
    const { judge, reported } = bed();
    judge.removed(ended);
    expect(reported).toEqual([]);
  });

  test.each<[string, Pod, Truth, string]>([
    [
      'that nobody deleted',
      pod({ phase: 'Failed' }),
      {},
      'its node deletes it, although nobody asked for that',
    ],
    [
      'in a phase before its end',
      pod({ phase: 'Running' }, { deleted: true }),
      {},
      'is deleted in phase Running',
    ],
    ['with a container that runs', ended, { sandboxes: RUNNING }, 'is deleted, and its container main runs'],
    [
      'with a start under way',
      ended,
      { calls: [starting('StartContainer')] },
      'is deleted, and StartContainer is in flight',
    ],
    ['with its sandbox', ended, { sandboxes: [sandbox(true)] }, 'is deleted, and its sandbox s1 is ready'],
    ['with its volumes', ended, { isMounted: () => true }, 'is deleted, and its volumes are mounted'],
  ])('not %s', (_, removed, truth, what) => {
    const { judge, reported } = bed(truth);
    judge.removed(removed);
    expect(reported).toEqual([`pod object ${UID}: ${what}`]);
  });

  test('although a call of an earlier agent has started something that this one cannot know', () => {
    const { judge, reported } = bed({ sandboxes: RUNNING, mayRunUnknown: () => true });
    judge.removed(ended);
    expect(reported).toEqual([]);
  });

  test('although an earlier agent is starting something', () => {
    const { judge, reported } = bed({ calls: [starting('StartContainer')], isForeign: () => true });
    judge.removed(ended);
    expect(reported).toEqual([]);
  });
});

describe('a terminal phase is written', () => {
  const write = (truth: Truth, after: Pod, isLate = false) => {
    const { judge, reported } = bed(truth);
    judge.written(pod({ phase: 'Running' }), after, { isLate });
    return reported;
  };

  test.each(['Succeeded', 'Failed'])('not as long as a container runs: %s', (phase) => {
    const what = `gets phase ${phase}, and its container main runs`;
    expect(write({ sandboxes: RUNNING }, pod({ phase }))).toEqual([`pod object ${UID}: ${what}`]);
    expect(write({ sandboxes: RUNNING }, pod({ phase }), true)).toEqual([`pod object ${UID}: ${what}`]);
  });

  test('by an agent that was killed, after a later one has started the pod', () => {
    const { judge, reported } = bed({ sandboxes: RUNNING });
    const late = { isLate: true, isOfFormerAgent: true };
    judge.written(pod({ phase: 'Running' }), pod({ phase: 'Failed' }), late);
    expect(reported).toEqual([]);
  });

  test('when no container runs, though the sandbox may be ready', () => {
    expect(
      write(
        { sandboxes: [sandbox(true, container('c1', { state: 'CONTAINER_EXITED' }))] },
        pod({ phase: 'Failed' }),
      ),
    ).toEqual([]);
  });

  test('of a mirror pod by what runs of its static pod', () => {
    const annotations = { [CONFIG_MIRROR_ANNOTATION]: 'static-1', [CONFIG_HASH_ANNOTATION]: 'static-1' };
    const asked: string[] = [];
    const mayRunUnknown = (uid: string) => asked.push(uid) < 0;
    expect(
      write({ sandboxes: RUNNING, mayRunUnknown }, pod({ phase: 'Failed' }, { annotations })),
    ).toHaveLength(1);
    expect(asked).toEqual(['static-1']);
    expect(localUID(pod({}, { annotations }))).toBe('static-1');
    expect(localUID(pod({}))).toBe(UID);
  });
});

describe('a status does not go back', () => {
  const counted = (restartCount: number) => [
    { name: 'main', image: 'x', imageID: '', ready: true, restartCount },
  ];

  test.each<[string, PodStatus, PodStatus, string]>([
    ['phase', { phase: 'Succeeded' }, { phase: 'Running' }, 'phase from Succeeded to Running'],
    ['phase', { phase: 'Failed' }, { phase: 'Succeeded' }, 'phase from Failed to Succeeded'],
    [
      'startTime',
      { startTime: '2030-01-01T00:00:00Z' },
      { startTime: '2030-01-01T00:00:01Z' },
      'startTime from 2030-01-01T00:00:00Z to 2030-01-01T00:00:01Z',
    ],
    [
      'startTime',
      { startTime: '2030-01-01T00:00:00Z' },
      {},
      'startTime from 2030-01-01T00:00:00Z to undefined',
    ],
    [
      'observedGeneration',
      { observedGeneration: 2 },
      { observedGeneration: 1 },
      'observedGeneration from 2 to 1',
    ],
    [
      'containerStatuses',
      { containerStatuses: counted(2) },
      { containerStatuses: counted(1) },
      'restartCount of main from 2 to 1',
    ],
    [
      'initContainerStatuses',
      { initContainerStatuses: counted(1) },
      { initContainerStatuses: counted(0) },
      'restartCount of main from 1 to 0',
    ],
  ])('%s: %j to %j', (_, before, after, what) => {
    const { judge, reported } = bed();
    judge.written(pod(before), pod(after), { isLate: false });
    expect(reported).toEqual([`status ${UID}: the status goes back: ${what}`]);
  });

  test('but a write that came late may bring an old one', () => {
    const { judge, reported } = bed();
    judge.written(pod({ containerStatuses: counted(2) }), pod({ containerStatuses: counted(1) }), {
      isLate: true,
    });
    expect(reported).toEqual([]);
  });

  test('and goes forward', () => {
    const { judge, reported } = bed();
    const [before, after] = [counted(1), [...counted(2), { ...counted(0)[0], name: 'new' }]];
    judge.written(
      pod({ phase: 'Pending', containerStatuses: before, observedGeneration: 1 }),
      pod({
        phase: 'Running',
        containerStatuses: after as typeof before,
        observedGeneration: 2,
        startTime: '2030-01-01T00:00:00Z',
      }),
      { isLate: false },
    );
    expect(reported).toEqual([]);
  });
});
