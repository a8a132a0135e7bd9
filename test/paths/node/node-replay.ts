/** One path of the Node object's chart, replayed against the production actor. What it asks is held until the step that answers it. */
import { expect } from '@jest/globals';
import type { InspectionEvent } from 'xstate';
import { ClusterNode } from '../../../src/actors/cluster/cluster-node.ts';
import type { nodeMachine, NodeEvent } from '../../../src/machines/node-machine.ts';
import type { MachineIdentity } from '../../../src/policies/node/machine-identity.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Node } from '../../../src/types/kubernetes.ts';
import { IDENTITY, machineFacts, OTHER_IDENTITY, REGISTRATION } from '../../support/machine-facts.ts';
import { type ApiRequest, NodeApi, refusal } from '../../support/node-api.ts';
import type { Coverage } from '../coverage.ts';
import { SILENT } from '../path-node.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  essence,
  LEASE_SECONDS,
  type Name,
  type NodeState,
  NOW,
  stateName,
  UIDS,
} from './node-environment.ts';

const LOOK_MS = 10_000;

export async function replayNode(
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
    this.#node = new ClusterNode({
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
      isReady: () => this.#isReady,
      onRegistered: (uid) => this.#told.push(uid),
      onLost: () => this.#told.push('lost'),
      clock: this.#clock,
      random: () => 0,
      recorder: { nodeEvent: () => undefined },
      logger: SILENT,
      inspect: (event) => {
        coverage.inspect(event);
        this.#listen(event);
      },
    });
  }

  async step({ name, event, before, after }: Step<typeof nodeMachine>): Promise<void> {
    await this.#passTime(event, before);
    await this.#bringAbout[name as Name]();
    await this.#clock.advance(0);
    expect({ state: stateName(this.#state), ...essence(this.#state) }).toEqual({
      state: stateName(after),
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
    quickLook: () => this.#clock.step(),
    quickLookReady: () => {
      this.#isReady = true;
      return this.#clock.step();
    },
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
    unreadyLongAfter: () => this.#report(UIDS.first, false),
    unreadyAnew: () => this.#report(UIDS.second, false),
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

  /** Until the next look. Quick looks before it change nothing. */
  async #untilAsked(): Promise<void> {
    this.#isReady = false;
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
    const name = stateName(this.#state);
    const asks = /\.(?:Trying|Looking|Reporting)$/.test(name);
    const timers = /\.(?:BackingOff|Waiting)$/.test(name) ? [1] : name.endsWith('Readiness') ? [1, 2] : [0];
    expect([name, this.#held.length]).toEqual([name, asks ? 1 : 0]);
    expect(timers).toContain(this.#clock.armed);
    const { uid } = this.#state.context;
    const isTold = this.#told.length > 0 && this.#told.at(-1) !== 'lost';
    expect([name, isTold]).toEqual([name, this.#node.isRegistered]);
    if (isTold) expect(this.#told.at(-1)).toBe(uid);
    expect(this.#told.filter((told, index) => told === this.#told[index - 1])).toEqual([]);
  }
}
