/** The events that are possible for the eviction machine of a node with one short resource, from its figures and its pods. */
import { initialTransition, type SnapshotFrom } from 'xstate';
import { evictionMachine, type EvictionEvent } from '../../../src/agent/machines/eviction-machine.ts';
import {
  chooseVictim,
  evaluateEviction,
  type EvictionEvaluation,
  type EvictionSettings,
} from '../../../src/agent/policies/eviction/pass.ts';
import { pressureThresholds } from '../../../src/agent/policies/eviction/pressure-settings.ts';
import type { PressureCondition } from '../../../src/agent/policies/eviction/signals.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { PodStats } from '../../../src/types/stats.ts';
import { requestingPod, type RequestingPod } from '../../support/admission.ts';
import {
  factsWith,
  GI,
  type Left,
  MI,
  settingsWith,
  shortageOf,
  statsOf,
  summaryOf,
  thresholds,
} from '../../support/eviction.ts';
import { after } from '../../support/child-events.ts';
import { LASTING_COMMAND } from '../path-node.ts';
import { type Environment, type Step, stepOf } from '../paths.ts';

export type EvictionSnapshot = SnapshotFrom<typeof evictionMachine>;

/** How long a condition holds after the pressure is over. Every other wait of a path is shorter. */
export const TRANSITION_PERIOD_MS = 60_000;
/** How long a pod may take to end. */
export const GRACE_SECONDS = 5;
const LIMIT_BYTES = MI;

/** The resource that becomes short on the node. */
export interface Situation {
  readonly resource: 'memory' | 'disk' | 'pids';
}

interface Scarcity {
  readonly condition: PressureCondition;
  readonly signal: string;
  readonly hard: string;
  readonly soft: string;
  readonly short: Left;
  /** Only the soft threshold is met. */
  readonly tight: Left;
}

const SCARCITIES: Readonly<Record<Situation['resource'], Scarcity>> = {
  memory: {
    condition: 'MemoryPressure',
    signal: 'memory.available',
    hard: '100Mi',
    soft: '200Mi',
    short: { memory: 50 },
    tight: { memory: 150 },
  },
  disk: {
    condition: 'DiskPressure',
    signal: 'nodefs.available',
    hard: '10Gi',
    soft: '20Gi',
    short: { disk: 5 },
    tight: { disk: 15 },
  },
  pids: {
    condition: 'PIDPressure',
    signal: 'pid.available',
    hard: '100',
    soft: '200',
    short: { pids: 50 },
    tight: { pids: 150 },
  },
};

/** A node on which no resource is short. */
const PLENTY: Left = { memory: 500, disk: 50, pids: 900 };

export type Figures = 'plenty' | 'tight' | 'short';

export function leftOn({ resource }: Situation, figures: Figures): Left {
  return figures === 'plenty' ? PLENTY : { ...PLENTY, ...SCARCITIES[resource][figures] };
}

export function settingsOf({ resource }: Situation): EvictionSettings {
  const { signal, hard, soft } = SCARCITIES[resource];
  return settingsWith({
    pressureTransitionPeriodMs: TRANSITION_PERIOD_MS,
    thresholds: [
      ...thresholds({
        // The figures never show less memory than this; the path says what the watch reports.
        evictionHard: { 'memory.available': '1Mi', [signal]: hard },
        evictionSoft: { [signal]: soft },
        // Longer than any path.
        evictionSoftGracePeriod: { [signal]: '24h' },
      }),
      // The figures never meet these thresholds; the path says what the watch reports.
      ...pressureThresholds({
        evictionPSI: { 'memory.pressure.some.avg10': '99%', 'io.pressure.some.avg10': '99%' },
        evictionPSIGracePeriod: {},
      }),
    ],
  });
}

/**
 * The part of a pod in a path: `first` and `second` are evicted, `stranger` ends by itself, `leaving` is ending already, and
 * the others stay.
 */
export type Role = 'first' | 'second' | 'stranger' | 'leaving' | 'modest' | 'critical' | 'static';

/** How much a pod uses of every resource. Pods that may never be evicted use most. */
const USAGE: Readonly<Record<Role, number>> = {
  critical: 9,
  static: 8,
  first: 3,
  second: 2,
  leaving: 1,
  stranger: 1,
  modest: 1,
};
const KINDS: Partial<Record<Role, RequestingPod>> = {
  critical: { critical: true },
  static: { annotations: { 'kubernetes.io/config.source': 'file' } },
};

/** The pods of one role are `first-1`, `first-2`, and so on. Each replaces the one before it, after the end of that pod. */
export function podOf(role: Role, which: number): Pod {
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: String(LIMIT_BYTES) } }];
  const more = { terminationGracePeriodSeconds: GRACE_SECONDS, volumes, ...KINDS[role] };
  const pod = requestingPod(`${role}-${which}`, more);
  const containers = pod.spec.containers.map((made) => ({ ...made, command: LASTING_COMMAND }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

export function roleOf(uid: string): Role {
  return uid.replace(/-\d+$/u, '') as Role;
}

/** Critical pods exceed their limits at all times. */
export function statsOfPod(uid: string, { isIdle = false, isOverLimit = false } = {}): PodStats {
  const role = roleOf(uid);
  const bytes = isIdle ? 0 : USAGE[role] * GI;
  const memory = { workingSetBytes: bytes };
  const exceeds = isOverLimit || role === 'critical' || role === 'static';
  return statsOf(uid, {
    memory,
    process_stats: { process_count: isIdle ? 0 : USAGE[role] },
    containers: [{ name: 'main', memory, rootfs: { usedBytes: bytes }, logs: { usedBytes: 0 } }],
    volume: [{ name: 'scratch', usedBytes: exceeds ? 2 * LIMIT_BYTES : 0 }],
  });
}

const FIRST = podOf('first', 1);
const SECOND = podOf('second', 1);

/** The events name pods by their roles. The replay chooses the pod of the role. */
const ended = (role: Role): EvictionEvent => ({ type: 'POD_ENDED', uid: `${role}-1` });
const failed = (role: Role): EvictionEvent => ({ type: 'POD_FAILED', uid: `${role}-1`, problem: '' });
const gone = (role: Role): EvictionEvent => ({ type: 'POD_GONE', uid: `${role}-1` });

/** Events from other actors, from the watches, and from timers. */
const SENT = {
  periodOver: after('period', 'eviction.Schedule.Everything.Waiting'),
  doubtOver: after('doubt', 'eviction.Schedule.Memory.InDoubt'),
  memoryShort: { type: 'MEMORY_SHORT' },
  memoryEnough: { type: 'MEMORY_ENOUGH' },
  memoryStalled: { type: 'MEMORY_STALLED' },
  ioStalled: { type: 'IO_STALLED' },
  firstEnded: ended('first'),
  secondEnded: ended('second'),
  /** A pod that was not evicted. */
  strangerEnded: ended('stranger'),
  firstFailed: failed('first'),
  secondFailed: failed('second'),
  cleanedUp: { type: 'CLEANED_UP' },
  firstGone: gone('first'),
  secondGone: gone('second'),
} as const satisfies Record<string, EvictionEvent>;

/** Events from the figures: each is an answer to a request of the machine. */
function answers(situation: Situation) {
  const { condition, signal, hard } = SCARCITIES[situation.resource];
  const evaluated = (
    name: string,
    figures: Figures,
    conditions: PressureCondition[],
    over: readonly Pod[] = [],
  ) => {
    const stats = over.map(({ metadata }) => statsOfPod(metadata.uid, { isOverLimit: true }));
    const summary = summaryOf(leftOn(situation, figures), stats);
    const made = evaluateEviction(factsWith({ settings: settingsOf(situation), pods: over, summary }));
    const shortage = made.shortage && named('short', made.shortage);
    const evaluation = { ...made, conditions, state: named(name, made.state), shortage };
    return { type: 'EVALUATED', evaluation: named<EvictionEvaluation>(name, evaluation) } as const;
  };
  const shortage = named('short', shortageOf(signal, hard, leftOn(situation, 'short')));
  const ranked = (name: string, ...pods: Pod[]) => {
    const summary = summaryOf({}, []);
    const nobody = { ending: new Set<string>(), unendable: new Set<string>() };
    const choice = chooseVictim({ settings: settingsOf(situation), shortage, summary, pods, ...nobody });
    return { type: 'RANKED', choice: named(name, choice) } as const;
  };
  return {
    plenty: evaluated('plenty', 'plenty', []),
    /** There was pressure a while ago. */
    lingering: evaluated('lingering', 'plenty', [condition]),
    tight: evaluated('tight', 'tight', [condition]),
    short: evaluated('short', 'short', [condition]),
    firstOver: evaluated('firstOver', 'plenty', [], [FIRST]),
    bothOver: evaluated('bothOver', 'short', [condition], [FIRST, SECOND]),
    notMeasured: { type: 'OBSERVATION_FAILED', problem: '' },
    reclaimedEnough: { type: 'NODE_RECLAIMED', shortage: undefined },
    reclaimedTooLittle: { type: 'NODE_RECLAIMED', shortage },
    firstRanked: ranked('first', FIRST),
    secondRanked: ranked('second', SECOND),
    nobodyRanked: ranked('nobody'),
    relieved: { type: 'RELIEVED' },
  } as const satisfies Record<string, EvictionEvent>;
}

/** Names a value for xstate/graph, which writes everything as JSON and cannot write the figures. */
function named<Value extends object>(name: string, value: Value): Value {
  return Object.defineProperty({ ...value }, 'toJSON', { value: () => name });
}

export type SentName = keyof typeof SENT;
export type Answer = keyof ReturnType<typeof answers>;
export type EvictionEventName = SentName | Answer;

export function isSent(name: string): name is SentName {
  return name in SENT;
}

export function evictionEnvironment(situation: Situation): Environment<typeof evictionMachine> {
  return {
    machine: evictionMachine,
    input: undefined,
    events: { ...SENT, ...answers(situation) },
    possible: (state) => possible(situation, state),
    label: evictionLabel,
  };
}

/** States are equal even if different pods have ended or hang. */
export function plainEvictionEnvironment(situation: Situation): Environment<typeof evictionMachine> {
  return { ...evictionEnvironment(situation), label: ({ value }) => JSON.stringify(value) };
}

/** Many passes in a row, with random events. Each pass starts with the pods that the pass before it has left. */
export function evictionWalk(
  situation: Situation,
  seed: number,
  length: number,
): readonly Step<typeof evictionMachine>[] {
  const environment = evictionEnvironment(situation);
  const random = seededRandom(seed);
  let [before] = initialTransition(evictionMachine);
  return Array.from({ length }, () => {
    // A walk does not know the time: the last observation may be older than the transition period.
    const names = environment.possible(before).filter((candidate) => candidate !== 'lingering');
    const step = stepOf(environment, before, random.pick(names));
    before = step.after;
    return step;
  });
}

function possible(situation: Situation, state: EvictionSnapshot): readonly EvictionEventName[] {
  const { condition } = SCARCITIES[situation.resource];
  const { unendable, awaited, evictions } = state.context;
  const hangs = (role: Role) => unendable.some((uid) => roleOf(uid) === role);
  const awaits = (role: Role) => awaited.some((uid) => roleOf(uid) === role);
  const { Memory: memory, Everything: everything } = state.value.Schedule;
  const gone = endsUnheard(state)
    ? (['first', 'second'] as const).filter(hangs).map((role) => `${role}Gone` as const)
    : [];
  switch (passOf(state)) {
    case 'Observing':
      return [...mayComeWhileObserving(situation, state), ...gone];
    case 'Evaluating': {
      const mayBeOver = !state.hasTag(condition) || isTimeFree(state);
      if (memory === 'InDoubt') return ['tight', ...(mayBeOver ? (['plenty'] as const) : [])];
      return [
        ...(state.hasTag(condition) ? (['lingering'] as const) : []),
        ...(mayBeOver ? (['plenty'] as const) : []),
        ...(['tight', 'short', 'notMeasured'] as const),
        ...(hangs('first') || !mayBeOver ? [] : (['firstOver'] as const)),
        ...(hangs('first') || hangs('second') ? gone : (['bothOver'] as const)),
        ...(unendable.length > 0 || memory === 'Due' ? [] : (['strangerEnded'] as const)),
        ...mayComeWhileMeasuring(situation, state),
      ];
    }
    case 'ReclaimingNode':
      return [
        'reclaimedEnough',
        'reclaimedTooLittle',
        ...(unendable.length > 0 ? [] : (['memoryShort'] as const)),
        ...gone,
      ];
    case 'Ranking': {
      const next = hangs('first') ? 'secondRanked' : 'firstRanked';
      const anybody = hangs('first') && hangs('second') ? [] : ([next] as const);
      const isDue = memory === 'Due' || everything === 'Due';
      return [...anybody, ...(isDue ? [] : (['nobodyRanked'] as const)), 'relieved', ...gone];
    }
    case 'Evicting': {
      // Both pods have the same time limit: the second pod fails as soon as the first pod fails.
      if (awaits('second') && hangs('first') && evictions.length === 2) return ['secondFailed'];
      const mayFail = isTimeFree(state);
      return [
        ...(awaits('first') ? (['firstEnded'] as const) : []),
        ...(awaits('first') && mayFail ? (['firstFailed'] as const) : []),
        ...(awaits('second') ? (['secondEnded'] as const) : []),
        ...(awaits('second') && !awaits('first') && mayFail ? (['secondFailed'] as const) : []),
        // The machine's own timers end before the time limit of a pod.
        ...(memory === 'InDoubt' ? (['doubtOver'] as const) : []),
        ...(memory !== 'InDoubt' && everything === 'Waiting' ? (['periodOver'] as const) : []),
        ...(unendable.length > 0 ? [] : (['strangerEnded'] as const)),
        ...gone,
      ];
    }
    default:
      return ['cleanedUp', ...gone];
  }
}

function mayComeWhileObserving(
  { resource }: Situation,
  state: EvictionSnapshot,
): readonly EvictionEventName[] {
  const { value, context } = state;
  // A pod is ending, and the next pass waits for its end.
  if (context.shortage !== undefined && context.choice?.eviction === undefined) return ['strangerEnded'];
  if (value.Schedule.Memory === 'InDoubt')
    return resource === 'memory'
      ? ['doubtOver', 'memoryShort', 'memoryEnough', 'ioStalled']
      : ['doubtOver', 'memoryEnough'];
  if (!isCalm(resource, state)) return ['periodOver'];
  if (resource === 'memory')
    return ['periodOver', 'memoryShort', 'memoryStalled', 'ioStalled', 'strangerEnded'];
  return ['periodOver', 'strangerEnded'];
}

function mayComeWhileMeasuring(
  { resource }: Situation,
  state: EvictionSnapshot,
): readonly EvictionEventName[] {
  const { Memory: memory, Everything: everything } = state.value.Schedule;
  if (!isCalm(resource, state)) return [];
  if (resource !== 'memory') return memory === 'NotDue' ? ['memoryShort'] : [];
  return [
    ...(memory === 'Due' ? [] : (['memoryShort', 'memoryStalled'] as const)),
    ...(memory === 'Measuring' ? (['memoryEnough'] as const) : []),
    ...(everything === 'Waiting' ? (['periodOver'] as const) : []),
    ...(everything === 'Due' ? [] : (['ioStalled'] as const)),
  ];
}

/**
 * What becomes due is the same after every pass, for every resource. The paths cover all of it if no pod hangs, no condition
 * holds and memory becomes short. In other situations they cover little of it, or there would be thousands of paths.
 */
function isCalm(resource: Situation['resource'], state: EvictionSnapshot): boolean {
  return (
    resource !== 'pids' &&
    state.context.unendable.length === 0 &&
    !state.hasTag(SCARCITIES[resource].condition)
  );
}

/** Whether time can pass without the end of one of the machine's own timers. */
export function isTimeFree({ value }: EvictionSnapshot): boolean {
  return value.Schedule.Everything !== 'Waiting' && value.Schedule.Memory !== 'InDoubt';
}

/** Whether the end of a pod changes nothing: nothing is short, or the short resource is due to be measured already. */
function endsUnheard({ value, context: { shortage, doubtsLeft } }: EvictionSnapshot): boolean {
  if (shortage === undefined) return true;
  const { Memory: memory, Everything: everything } = value.Schedule;
  return shortage.resource === 'memory' ? memory === 'Due' && doubtsLeft === 0 : everything === 'Due';
}

/** The state of the region Pass, for example `Evaluating`. */
export function passOf({ value: { Pass: pass } }: EvictionSnapshot): string {
  return typeof pass === 'string' ? pass : 'Evaluating';
}

/** The state, with the parts of its context that decide what may come next. */
function evictionLabel({ value, context }: EvictionSnapshot): string {
  const { shortage, choice, awaited, ended, unendable, doubtsLeft } = context;
  const isUnderWay = value.Pass === 'Evicting' || value.Pass === 'CleaningUp';
  // Confirmed differs from NotDue only in the ranking.
  const { Memory: memory, Everything: everything } = value.Schedule;
  const isPlain = memory === 'NotDue' || (memory === 'Confirmed' && value.Pass !== 'Ranking');
  const schedule = { Memory: isPlain ? 'NotDue' : memory, Everything: everything };
  return [
    JSON.stringify({ ...value, Schedule: schedule }),
    shortage === undefined ? 'enough' : 'short',
    shortage !== undefined && choice?.eviction === undefined ? 'nobody' : '',
    isPlain || doubtsLeft === 0 ? 'certain' : 'doubtful',
    `awaits ${awaited.join()}`,
    ...(isUnderWay ? [`after ${ended.toSorted().join()}`] : []),
    `without ${unendable.toSorted().join()}`,
  ].join('; ');
}
