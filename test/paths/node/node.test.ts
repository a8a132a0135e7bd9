/** The paths of the Node object's chart, replayed against the production actor and an API server of the test. */
import { afterAll, expect, test } from '@jest/globals';
import type { InspectionEvent, SnapshotFrom } from 'xstate';
import { ClusterNode } from '../../../src/agent/actors/cluster/cluster-node.ts';
import { stateName } from '../../../src/agent/actors/transitions.ts';
import { type NodeEvent, nodeMachine } from '../../../src/agent/machines/node-machine.ts';
import type { MachineIdentity } from '../../../src/agent/policies/node/machine-identity.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Node } from '../../../src/types/kubernetes.ts';
import { IDENTITY, machineFacts, OTHER_IDENTITY, REGISTRATION } from '../../support/machine-facts.ts';
import { type ApiRequest, NodeApi, refusal } from '../../support/node-api.ts';
import { Coverage } from '../coverage.ts';
import { testContext } from '../../support/test-context.ts';
import { type Environment, type Path, shortestPaths, type Step } from '../paths.ts';
import { replaying } from '../replaying.ts';

const coverage = new Coverage(nodeMachine);

afterAll(() => coverage.print('all events in all states'));

test.each([
  ['registers itself', true],
  ['does not register itself', false],
] as const)('every possible event in every state of a node that %s', async (_, registersItself) => {
  const paths = shortestPaths(nodeEnvironment(registersItself));
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replayNode(registersItself, path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});

type NodeState = SnapshotFrom<typeof nodeMachine>;

const NOW = Date.UTC(2030, 0, 1);

const LEASE_SECONDS = 40;

/** Of the Node object; another one after it was made anew. */
const UIDS = { first: 'a', second: 'b' } as const;

/** So often a lease is seen unchanged before its machine counts as silent. */
const SILENT_LOOKS = 4;

/** Longer than a lease is valid and some looks. */
const LONG_SILENCE_MS = 100_000;

const failure = { problem: refusal('InternalError').message, now: NOW };

const { machineID, systemUUID, bootID } = OTHER_IDENTITY;

const OTHER = `machine ID ${machineID}, system UUID ${systemUUID}, boot ID ${bootID}`;

const reported = (uid: string, isReady: boolean, afterMs = 0): NodeEvent => ({
  type: 'REPORTED',
  uid,
  isReady,
  now: NOW + afterMs,
});

const EVENTS = {
  start: { type: 'START', now: NOW },
  due: { type: 'DUE', now: NOW },
  news: { type: 'REPORT_NOW' },
  created: { type: 'REGISTERED', uid: UIDS.first, now: NOW },
  adopted: { type: 'REGISTERED', uid: UIDS.first, now: NOW },
  refused: { type: 'REGISTRATION_FAILED', ...failure },
  found: { type: 'NODE_FOUND', uid: UIDS.first, now: NOW },
  missing: { type: 'NODE_MISSING', now: NOW },
  unread: { type: 'LOOK_FAILED', ...failure },
  ready: reported(UIDS.first, true),
  unready: reported(UIDS.first, false),
  /** The Node object was made anew. */
  readyAnew: reported(UIDS.second, true),
  unreported: { type: 'REPORT_FAILED', ...failure },
  taken: { type: 'OTHER_MACHINE', other: OTHER, now: NOW },
  noLease: { type: 'OTHER_SEEN', version: undefined, now: NOW },
  renewedLease: { type: 'OTHER_SEEN', version: '1', now: NOW },
  renewedAgain: { type: 'OTHER_SEEN', version: '2', now: NOW },
  silence: { type: 'OTHER_SEEN', version: undefined, now: NOW + LONG_SILENCE_MS },
} as const satisfies Record<string, NodeEvent>;

type Name = keyof typeof EVENTS;

function nodeEnvironment(registersItself: boolean): Environment<typeof nodeMachine> {
  return {
    machine: nodeMachine,
    input: { registersItself, leaseDurationSeconds: LEASE_SECONDS, now: NOW },
    events: EVENTS,
    possible,
    label: nodeLabel,
  };
}

/** What decides what comes next. Only the tries of a report are counted. */
function nodeLabel(state: NodeState): string {
  const name = stateName(state.value);
  const { uid, failures, reportsAgain, lease, mayTakeOver } = essence(state);
  const tries = name.endsWith('Reporting') ? failures : 0;
  return [name, tries, uid, reportsAgain, lease, mayTakeOver].join();
}

/** The parts of the context that are compared. */
function essence({ context }: NodeState) {
  const { uid, writtenUid, failures, reportsAgain, other, otherLease, mayTakeOver, problem } = context;
  const lease = otherLease && `${otherLease.version === undefined ? 'none' : 'renewed'} ${otherLease.looks}`;
  return {
    uid,
    writtenUid,
    failures,
    reportsAgain,
    other,
    lease,
    mayTakeOver,
    problem,
  };
}

function possible(state: NodeState): readonly Name[] {
  const { uid, otherLease, mayTakeOver } = state.context;
  switch (stateName(state.value)) {
    case 'Idle':
      return ['start'];
    case 'Registering.BackingOff':
      return ['due', 'news'];
    case 'Registering.Trying':
      return ['created', 'adopted', 'refused', ...(mayTakeOver ? [] : (['taken'] as const)), 'news'];
    case 'AwaitingNode.Looking':
      return ['found', 'missing', 'unread', ...(mayTakeOver ? [] : (['taken'] as const)), 'news'];
    case 'Registered.Reporting':
      return ['news', 'missing', 'unreported', ...(mayTakeOver ? [] : (['taken'] as const)), ...reports(uid)];
    case 'OtherMachine.Looking': {
      const { version, looks = 0 } = otherLease ?? {};
      const isSilent = version === undefined && looks === SILENT_LOOKS - 1;
      return [
        isSilent ? 'silence' : 'noLease',
        version === '1' ? 'renewedAgain' : 'renewedLease',
        'found',
        'missing',
        'unread',
      ];
    }
    default:
      return ['due', 'news'];
  }
}

function reports(uid: string | undefined): readonly Name[] {
  return uid === UIDS.second ? ['readyAnew'] : ['ready', 'unready', 'readyAnew'];
}

const LOOK_MS = 10_000;

async function replayNode(
  registersItself: boolean,
  path: Path<typeof nodeMachine>,
  coverage: Coverage,
): Promise<void> {
  const replay = new NodeReplay(registersItself, coverage);
  const steps = async () => {
    for (const step of path) await replay.step(step);
    await replay.stop();
  };
  await replaying({ path, coverage, steps });
}

class NodeReplay {
  readonly #clock = new VirtualClock(NOW);
  readonly #api = new NodeApi(() => this.#clock.now());
  readonly #node: ClusterNode;
  readonly #told: string[] = [];
  /** Whatever the actor asks for goes on while this is open: until the actor has its answer. */
  #isOpen = false;
  #held: (() => void)[] = [];
  #isReady = false;
  #fails: (request: ApiRequest) => boolean = () => false;

  constructor(registersItself: boolean, coverage: Coverage) {
    this.#api.fault = async (request) => {
      await this.#pass();
      if (this.#fails(request)) throw refusal('InternalError');
    };
    const inspect = (event: InspectionEvent) => {
      coverage.inspect(event);
      this.#listen(event);
    };
    this.#node = new ClusterNode(testContext({ clock: this.#clock, inspect }), {
      api: this.#api,
      settings: {
        registerNode: registersItself,
        nodeStatusUpdateFrequencyMs: LOOK_MS,
        // Every report is sent.
        nodeStatusReportFrequencyMs: 0,
        nodeLeaseDurationSeconds: LEASE_SECONDS,
      },
      registration: REGISTRATION,
      facts: () => this.#facts(),
      onRegistered: (uid) => this.#told.push(uid),
      onLost: () => this.#told.push('lost'),
    });
  }

  async step({ name, event, before, after }: Step<typeof nodeMachine>): Promise<void> {
    await this.#passTime(event, before);
    await this.#bringAbout[name as Name]();
    await this.#clock.advance(0);
    expect({ state: stateName(this.#state.value), ...essence(this.#state) }).toEqual({
      state: stateName(after.value),
      ...essence(after),
    });
    this.#check();
  }

  async stop(): Promise<void> {
    this.#node.stop();
    await this.#answer();
    expect(this.#clock.armed).toBe(0);
  }

  get #state(): NodeState {
    return this.#node.actor.getSnapshot() as NodeState;
  }

  /** As long after the beginning of the state as in the path. Only while an answer is awaited: else timers would run out. */
  async #passTime(event: NodeEvent, { context }: NodeState): Promise<void> {
    if (this.#held.length === 0 || !('now' in event)) return;
    const wanted = event.now - context.since;
    const passed = this.#clock.now() - this.#state.context.since;
    await this.#clock.advance(Math.max(0, wanted - passed));
  }

  readonly #bringAbout: Readonly<Record<Name, () => void | Promise<void>>> = {
    start: () => this.#node.start(),
    due: () => this.#untilAsked(),
    news: () => this.#node.reportNow(),
    created: () => {
      this.#api.node = undefined;
      return this.#answer();
    },
    adopted: () => this.#answerWith(this.#nodeOf(UIDS.first, IDENTITY)),
    refused: () => this.#fail(),
    found: () => this.#answerWith(this.#nodeOf(UIDS.first, IDENTITY)),
    missing: () => {
      this.#api.node = undefined;
      return this.#answer();
    },
    unread: () => this.#fail(),
    ready: () => this.#report(UIDS.first, true),
    unready: () => this.#report(UIDS.first, false),
    readyAnew: () => this.#report(UIDS.second, true),
    unreported: () => this.#fail(),
    taken: () => {
      const { uid = UIDS.first } = this.#state.context;
      const node = this.#nodeOf(uid, OTHER_IDENTITY);
      this.#api.putNode(node);
      this.#node.seen(this.#api.node);
      return this.#answer();
    },
    noLease: () => this.#seeOther(false),
    renewedLease: () => this.#seeOther(true),
    renewedAgain: () => this.#seeOther(true),
    silence: () => this.#seeOther(false),
  };

  #nodeOf(uid: string, identity: MachineIdentity): Node {
    const status = machineFacts({ nowMs: NOW }).versions;
    const nodeInfo = {
      ...identity,
      architecture: status.arch,
      operatingSystem: status.os,
      containerRuntimeVersion: '',
      kernelVersion: '',
      kubeProxyVersion: '',
      kubeletVersion: '',
      osImage: '',
    };
    return { metadata: { name: REGISTRATION.nodeName, uid }, status: { nodeInfo } };
  }

  async #report(uid: string, isReady: boolean): Promise<void> {
    this.#isReady = isReady;
    // The watch shows it later: it would ask for a further report.
    if (this.#state.context.uid !== uid) this.#api.putNode(this.#nodeOf(uid, IDENTITY));
    await this.#answer();
  }

  #seeOther(isRenewed: boolean): Promise<void> {
    if (isRenewed) this.#api.putLease({ metadata: { name: REGISTRATION.nodeName } });
    else this.#api.lease = undefined;
    return this.#answerWith(this.#nodeOf(UIDS.first, OTHER_IDENTITY));
  }

  #answerWith(node: Node): Promise<void> {
    this.#api.putNode(node);
    return this.#answer();
  }

  async #fail(): Promise<void> {
    this.#fails = () => true;
    await this.#answer();
    this.#fails = () => false;
  }

  async #answer(): Promise<void> {
    this.#api.nextUid = UIDS.first;
    this.#isOpen = true;
    for (const proceed of this.#held.splice(0)) proceed();
    await this.#clock.advance(0);
    this.#isOpen = false;
  }

  /** Until the next look. */
  async #untilAsked(): Promise<void> {
    while (this.#held.length === 0) await this.#clock.step();
  }

  async #pass(): Promise<void> {
    if (!this.#isOpen) await new Promise<void>((proceed) => void this.#held.push(proceed));
  }

  async #facts() {
    await this.#pass();
    const problems = this.#isReady ? [] : ['container runtime is down'];
    return machineFacts({ nowMs: this.#clock.now(), problems });
  }

  /** With its answer the actor may ask for something else at once. */
  #listen({ type }: InspectionEvent): void {
    if (type === '@xstate.event') this.#isOpen = false;
  }

  /** One thing at a time is asked or waited for, and others know whether the Node object is of this machine. */
  #check(): void {
    const name = stateName(this.#state.value);
    const asks = /\.(?:Trying|Looking|Reporting)$/.test(name);
    const waits = /\.(?:BackingOff|Waiting)$/.test(name);
    expect([name, this.#held.length, this.#clock.armed]).toEqual([name, asks ? 1 : 0, waits ? 1 : 0]);
    const { uid } = this.#state.context;
    const isTold = this.#told.length > 0 && this.#told.at(-1) !== 'lost';
    expect([name, isTold]).toEqual([name, this.#node.isRegistered]);
    if (isTold) expect(this.#told.at(-1)).toBe(uid);
    expect(this.#told.filter((told, index) => told === this.#told[index - 1])).toEqual([]);
  }
}
