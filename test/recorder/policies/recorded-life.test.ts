import { describe, expect, test } from '@jest/globals';
import { choiceQuestion, recordedChoice } from '../../../src/recorder/policies/recorded-choice.ts';
import { recordedLife } from '../../../src/recorder/policies/recorded-life.ts';
import type { Transition } from '../../../src/types/transition.ts';

const T = Date.UTC(2030, 0, 1, 10, 28);
const UUID = '11111111-2222-3333-4444-555555555555';
const MANIFEST_UID = '0123456789abcdef0123456789abcdef';

type Step = Partial<Transition> & Pick<Transition, 'event' | 'from' | 'to'>;

/** A second apart. */
function of(uid: string, ...steps: readonly Step[]): readonly Transition[] {
  const common = { chart: 'pod', actor: `web_shop ${uid}`, actions: [] };
  return steps.map((step, index) => ({ ...common, atMs: T + index * 1000, ...step }));
}

const podWith = (metadata: object, status?: object) => ({ pod: { metadata, spec: {}, status } });
const ofSource = (source: string) => podWith({ annotations: { 'kubernetes.io/config.source': source } });
const FIRST: Step = {
  event: 'SyncPodCreate',
  from: 'Syncing.Starting.New',
  to: 'Syncing.Starting.AwaitingRuntime',
};
const SETTLED: Step = { event: 'SYNC_DONE', from: 'Syncing.Working', to: 'Syncing.Settled' };
const KILLED: Step = {
  event: 'SyncPodKill',
  from: 'Syncing.Settled',
  to: 'Terminating.Stopping',
  actions: ['recordUpdate', 'recordTermination'],
};
const STOPPED: Step = { event: 'STOP_DONE', from: 'Terminating.Stopping', to: 'Terminated.CleaningUp' };
const FINISHED: Step = { event: 'CLEANUP_DONE', from: 'Terminated.CleaningUp', to: 'Terminated.Finished' };
const LATE = { phase: 'Failed', reason: 'DeadlineExceeded', message: 'Pod was active too long' };
const killFor = (reason: string, message: string): Step => ({
  ...KILLED,
  data: { options: { podStatus: { phase: 'Failed', reason, message } } },
});

describe('the last life of a pod in the record', () => {
  test.each<[string, Step, object]>([
    [
      'a kill with a reason',
      killFor('Evicted', 'low on memory'),
      { cause: 'Evicted', reason: 'Evicted', message: 'low on memory' },
    ],
    ['preemption', killFor('Preempting', 'for a critical pod'), { cause: 'Preempted' }],
    ['a shutdown of the node', killFor('Terminated', 'imminent node shutdown'), { cause: 'NodeShutdown' }],
    ['statelet delete', killFor('Deleted', 'deleted on its node'), { cause: 'Deleted' }],
    ['a kill that says nothing', KILLED, { cause: 'Unwanted', reason: '' }],
    [
      'a deletion',
      { ...KILLED, event: 'SyncPodUpdate', data: podWith({ deletionTimestamp: '2030-01-01T10:28:02Z' }) },
      { cause: 'DeletedAtServer' },
    ],
    [
      'its containers',
      { ...KILLED, event: 'SYNC_DONE', from: 'Syncing.Working', guard: 'hasRunToItsEnd' },
      { cause: 'Completed' },
    ],
    [
      'its deadline',
      { ...KILLED, event: 'SYNC_DONE', from: 'Syncing.Working', data: { status: LATE } },
      { cause: 'DeadlineExceeded', ...LATE },
    ],
    [
      'a rejection',
      {
        ...KILLED,
        event: 'REJECTED',
        from: 'Syncing.Starting.Admitting',
        data: { reason: 'OutOfcpu', message: 'cpu' },
      },
      { cause: 'Rejected', reason: 'OutOfcpu' },
    ],
  ])('tells an end by %s', (_, end, expected) => {
    const life = recordedLife(of(UUID, { ...FIRST, data: ofSource('api') }, SETTLED, end, STOPPED, FINISHED));
    expect(life?.end).toMatchObject({ toldMs: T + 2000, endedMs: T + 3000, ...expected });
    expect(life).toMatchObject({
      namespace: 'shop',
      name: 'web',
      uid: UUID,
      origin: 'api',
      state: 'Terminated.Finished',
      sinceMs: T + 4000,
    });
  });

  test.each<[string, string, Step, string]>([
    ['a kill', UUID, KILLED, 'Killed'],
    [
      'an update of a pod of the server',
      UUID,
      { ...KILLED, event: 'SyncPodUpdate', guard: 'updateEndsPod' },
      'DeletedAtServer',
    ],
    [
      'an update of a pod of a manifest',
      MANIFEST_UID,
      { ...KILLED, event: 'SyncPodUpdate', guard: 'updateEndsPod' },
      'EndedBefore',
    ],
    ['a rejection', UUID, { ...KILLED, event: 'REJECTED' }, 'Rejected'],
  ])('tells what the states alone allow of %s', (_, uid, end, cause) => {
    expect(recordedLife(of(uid, FIRST, SETTLED, end, STOPPED))?.end).toMatchObject({ cause, reason: '' });
  });

  test('is that of the newest actor; the reason that came last counts', () => {
    const later = { ...killFor('Evicted', 'low'), from: 'Terminating.Stopping', to: 'Terminating.Stopping' };
    const old = of('old-uid', FIRST, KILLED, STOPPED);
    expect(recordedLife([...old, ...of(UUID, FIRST, KILLED, later, STOPPED)])).toMatchObject({
      uid: UUID,
      end: { cause: 'Evicted', toldMs: T + 1000 },
    });
  });

  test('of a pod that an agent finds ended is what an earlier agent recorded', () => {
    const restored = {
      ...FIRST,
      to: 'Terminated.CleaningUp',
      guard: 'hadRunToItsEnd',
      data: ofSource('local'),
    };
    const life = recordedLife(
      of(MANIFEST_UID, FIRST, SETTLED, killFor('Evicted', 'low'), STOPPED, restored, FINISHED),
    );
    expect(life).toMatchObject({ origin: 'local', end: { cause: 'Evicted', endedMs: T + 3000 } });
    expect(recordedLife(of(MANIFEST_UID, restored))).toMatchObject({ end: { cause: 'EndedBefore' } });
  });

  test('begins with the newest actor, also in what versions recorded whose chart began outside of Starting', () => {
    const [begun, deleted] = [
      { ...FIRST, from: 'Syncing.New' },
      { ...FIRST, data: ofSource('local') },
    ];
    const life = recordedLife(of(MANIFEST_UID, deleted, SETTLED, killFor('Deleted', ''), begun, SETTLED));
    expect(life).toMatchObject({ origin: 'local', state: 'Syncing.Settled', end: undefined });
  });

  test('has the phase of its clean-up where that is final, whoever ended it', () => {
    const cleaned = { ...FINISHED, data: { status: LATE } };
    const end = (told: Step) => recordedLife(of(UUID, FIRST, SETTLED, told, STOPPED, cleaned))?.end;
    const { reason, message } = LATE;
    const byItself = { ...KILLED, event: 'SYNC_DONE', data: { status: { phase: 'Running' } } };
    expect(end(byItself)).toMatchObject({ cause: 'DeadlineExceeded', phase: 'Failed', reason, message });
    const running = { ...FINISHED, data: { status: { phase: 'Running' } } };
    expect(recordedLife(of(MANIFEST_UID, FIRST, KILLED, STOPPED, running))?.end).toMatchObject({ phase: '' });
    // The deadline was over while the pod was ending: it is not why.
    const deletion = podWith({ deletionTimestamp: '2030-01-01T10:28:02Z' });
    expect(end({ ...KILLED, event: 'SyncPodUpdate', data: deletion })).toMatchObject({
      ...{ cause: 'DeletedAtServer', phase: 'Failed', reason: '' },
    });
    expect(end(killFor('Evicted', 'low'))).toMatchObject({
      cause: 'Evicted',
      phase: 'Failed',
      message: 'low',
    });
  });

  test('of a pod that an agent finds ended has the reason that agent knows, where no earlier one saw the end', () => {
    const restored = { ...FIRST, to: 'Terminated.CleaningUp', guard: 'hadRunToItsEnd' };
    const cleaned = { ...FINISHED, data: { status: LATE } };
    expect(recordedLife(of(MANIFEST_UID, restored, cleaned))?.end).toMatchObject({
      ...{ cause: 'DeadlineExceeded', ...LATE },
    });
    const seen = { ...KILLED, event: 'SYNC_DONE', data: { status: { phase: 'Succeeded' } } };
    const lives = of(MANIFEST_UID, FIRST, SETTLED, seen, STOPPED, restored, cleaned);
    expect(recordedLife(lives)?.end).toMatchObject({
      cause: 'Completed',
      phase: 'Succeeded',
      toldMs: T + 2000,
    });
  });

  test('has no end while nothing has ended it, and none where nothing is recorded', () => {
    expect(
      recordedLife(
        of(MANIFEST_UID, FIRST, SETTLED, {
          ...SETTLED,
          event: 'SyncPodSync',
          from: 'Syncing.Settled',
          to: 'Syncing.Settled',
        }),
      ),
    ).toMatchObject({
      origin: 'static',
      state: 'Syncing.Settled',
      sinceMs: T + 1000,
      end: undefined,
    });
    expect(recordedLife([])).toBeUndefined();
  });
});

function withoutData({ data, ...states }: Transition): Transition {
  expect(data).toBeDefined();
  return states;
}

describe('the choice in the record', () => {
  const told = (end: Step) => {
    const life = recordedLife(of(UUID, { ...FIRST, data: ofSource('api') }, SETTLED, end, STOPPED));
    if (life === undefined) throw new Error('no life');
    return life;
  };
  const node = (chart: string, actor: string, step: Partial<Transition>): Transition => ({
    chart,
    actor,
    atMs: T + 2000,
    event: '',
    from: '',
    to: '',
    actions: [],
    ...step,
  });
  const candidate = {
    namespace: 'shop',
    name: 'web',
    uid: UUID,
    qosClass: 'Burstable',
    priority: 0,
    frees: [],
    distance: 0.5,
  };
  const missing = [{ resource: 'cpu', amount: 300 }];
  const decision = {
    missing,
    victims: [{ candidate, missing, distance: 0.5 }],
    unmet: [],
  };
  const preempts = node('preemption', 'preemption dns_kube-system v', {
    event: 'VICTIMS_SELECTED',
    from: 'SelectingVictims',
    to: 'Evicting',
    data: { decision },
  });
  const why = 'memory.available 90Mi < 100Mi (hard); 1 pod ranked: shop/web goes';
  const ranked = (uid: string) =>
    node('eviction', 'eviction', {
      event: 'RANKED',
      from: 'Pass.Ranking',
      to: 'Pass.Evicting',
      data: { choice: { why, eviction: { why, pod: { uid } }, ranking: { candidates: [candidate] } } },
    });

  test('names the pod for which it was preempted, what that lacked and how the victim was chosen', () => {
    expect(recordedChoice(told(killFor('Preempting', 'x')), [ranked('other'), preempts])).toEqual({
      cause: 'Preempted',
      choice: {
        preemptor: 'kube-system/dns',
        missing: 'cpu=300m',
        how: 'missing cpu=300m; in this order: shop/web (Burstable, priority 0, distance 0.5)',
        order: ['shop/web'],
      },
    });
  });

  test('names the candidates that were not chosen for a critical pod', () => {
    const others = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        namespace: 'shop',
        name: `p${index}`,
        uid: `u${index}`,
      }));
    const chosen = (count: number) => {
      const data = { decision: { ...decision, candidates: [candidate, ...others(count)] } };
      return recordedChoice(told(killFor('Preempting', 'x')), [{ ...preempts, data }])?.choice;
    };
    expect(chosen(2)).toMatchObject({
      how: expect.stringMatching(/distance 0\.5\); not chosen: shop\/p0, shop\/p1$/u),
      order: ['shop/web'],
      notChosen: ['shop/p0', 'shop/p1'],
    });
    // No more than ten are recorded.
    expect(chosen(9)?.how).toContain('; not chosen, among others: shop/p0, ');
    expect(chosen(0)).not.toHaveProperty('notChosen');
  });

  test('leaves out figures that the record of another version does not have', () => {
    const data = { decision: { victims: [{ candidate }] } };
    expect(recordedChoice(told(killFor('Preempting', 'x')), [{ ...preempts, data }])?.choice).toEqual({
      preemptor: 'kube-system/dns',
      how: '',
      order: ['shop/web'],
    });
  });

  test('gives the order of eviction', () => {
    expect(recordedChoice(told(killFor('Evicted', 'x')), [ranked('other'), ranked(UUID)])).toEqual({
      cause: 'Evicted',
      choice: { how: why, order: ['shop/web'] },
    });
    expect(recordedChoice(told(killFor('Evicted', 'x')), [ranked('other')])).toBeUndefined();
  });

  test('finds that the agent ended with its pods', () => {
    const ends = node('supervisor', 'supervisor', {
      event: 'SHUTDOWN',
      from: 'Loop.Running',
      to: 'Loop.EndingPods',
      atMs: T,
    });
    const life = told(KILLED);
    expect(recordedChoice(life, [ends])).toEqual({ cause: 'AgentEnded' });
    expect(recordedChoice(life, [])).toBeUndefined();
    const { keeps, wants, sinceMs, untilMs } = choiceQuestion(life) ?? {};
    expect([keeps?.(ends), keeps?.(preempts), keeps?.({ ...preempts, atMs: T - 60_000 })]).toEqual([
      true,
      true,
      false,
    ]);
    expect([wants?.('supervisor'), wants?.('web_shop u'), wants?.('preemption dns_kube-system v')]).toEqual([
      true,
      false,
      true,
    ]);
    expect([sinceMs, untilMs]).toEqual([T + 2000 - 600_000, T + 3000]);
  });

  test('is guessed from the states where an old record has no more', () => {
    const old = recordedLife(of(UUID, FIRST, SETTLED, KILLED, STOPPED));
    if (old === undefined) throw new Error('no life');
    const states = withoutData(preempts);
    expect(recordedChoice(old, [states])).toMatchObject({
      cause: 'Preempted',
      choice: { preemptor: 'kube-system/dns' },
    });
    const two = [states, { ...states, actor: 'preemption api_kube-system w' }];
    expect(recordedChoice(old, two)).toEqual({ cause: 'Preempted', choice: { how: '', order: [] } });
    const evicts = withoutData(ranked(UUID));
    expect(recordedChoice(old, [evicts])).toEqual({ cause: 'Evicted' });
    const removes = node('supervisor', 'supervisor', {
      event: 'CONFIG.REMOVE',
      from: 'Loop.Running',
      to: 'Loop.Running',
    });
    expect(recordedChoice(old, [removes])).toEqual({ cause: 'Unwanted' });
    expect(choiceQuestion(old)?.keeps(removes)).toBe(true);
    expect(recordedChoice(old, [{ ...evicts, atMs: T - 60_000 }])).toBeUndefined();
    expect(recordedChoice(old, [node('shutdown', 'shutdown', { to: 'ShuttingDown.EndingGroup' })])).toEqual({
      cause: 'NodeShutdown',
    });
  });

  test('is not looked for where the pod ended by itself', () => {
    expect(choiceQuestion(told({ ...KILLED, event: 'SYNC_DONE' }))).toBeUndefined();
  });
});
