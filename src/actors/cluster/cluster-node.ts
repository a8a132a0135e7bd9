/** The actor of the Node object, and its effects. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor, waitFor } from 'xstate';
import { hasReason, isSameProblem } from '../../cluster/service/api-error.ts';
import type { ObjectReference } from '../../cluster/service/api-resources.ts';
import type { ApiObject, ApiServer, RequestOptions } from '../../cluster/service/api-server.ts';
import { type NodeContext, type NodeEvent, nodeMachine } from '../../machines/node-machine.ts';
import { initialNode, type RegistrationSettings } from '../../policies/node-status/initial-node.ts';
import { LEASE_NAMESPACE } from '../../policies/node-status/lease-renewal.ts';
import {
  type MachineIdentity,
  otherMachine,
  type Ownership,
} from '../../policies/node-status/machine-identity.ts';
import { NO_NODE_INFO } from '../../policies/node-status/machine-resources.ts';
import {
  buildNodeStatus,
  type NodeStatusFacts,
  type NodeStatusUpdate,
  NOTHING_TOLD,
  type ToldOfNode,
} from '../../policies/node-status/node-status.ts';
import {
  mayExist,
  nodePatch,
  registrationDelayMs,
  registrationPatch,
} from '../../policies/node-status/registration.ts';
import {
  isReportDue,
  lookDelayMs,
  NO_REPORT,
  nodeHasChanged,
  QUICK_LOOK_PERIOD_MS,
  sentReport,
} from '../../policies/node-status/status-report.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { ClusterSettings } from '../../types/cluster-settings.ts';
import { errorKind, errorMessage } from '../../types/errors.ts';
import type { NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Lease, Node } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';

export interface ClusterNodeOptions {
  /** Of the heartbeats. */
  readonly api: ApiServer;
  readonly settings: Pick<
    ClusterSettings,
    | 'registerNode'
    | 'nodeStatusUpdateFrequencyMs'
    | 'nodeStatusReportFrequencyMs'
    | 'nodeLeaseDurationSeconds'
  >;
  readonly registration: RegistrationSettings;
  readonly facts: () => Promise<NodeStatusFacts>;
  /** Whether the node could be Ready now. Asked ten times a second while an agent that has just started waits for it. */
  readonly isReady: () => boolean;
  /** The Node object with this UID exists and is of this machine. Called again when it has another UID. */
  readonly onRegistered: (uid: string) => void;
  /** The Node object is gone, or of another machine. */
  readonly onLost: () => void;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly recorder: NodeEventRecorder;
  readonly logger: Logger;
  readonly parent?: AnyActorRef;
  readonly inspect?: ActorOptions<typeof nodeMachine>['inspect'];
}

export interface ClusterNodeState {
  /** Of the first level of the chart: `Registering`, `Registered`, `OtherMachine`, … */
  readonly state: string;
  /** Unix ms. */
  readonly since: number;
  /** What it waits for, or why the last request failed. */
  readonly problem: string | undefined;
}

export class ClusterNode {
  readonly #options: ClusterNodeOptions;
  readonly #actor: ActorRefFrom<typeof nodeMachine>;
  /** Of registration and looks. */
  readonly #timer: Timer;
  readonly #quickTimer: Timer;
  readonly #target: ObjectReference;
  readonly #status: ObjectReference;
  readonly #life = new AbortController();
  /** The Node object as the server told it last, by the watch or in an answer. */
  #latest: Node | undefined;
  #record = NO_REPORT;
  #told: ToldOfNode = NOTHING_TOLD;
  #registeredUid: string | undefined;
  /** Of the registration. They are recorded when the UID of the Node object is known, which they refer to. */
  #untold: NodeStatusUpdate['events'] = [];
  /** Why a part of the status could not be built, as it was logged last. */
  #problems = '';
  /** Only a parent can stop its actor: after a stop, this one hears no more. */
  #isStopped = false;

  constructor(options: ClusterNodeOptions) {
    this.#options = options;
    const { settings, registration, clock, parent, inspect } = options;
    this.#timer = new Timer(clock);
    this.#quickTimer = new Timer(clock);
    this.#target = { resource: 'nodes', name: registration.nodeName };
    this.#status = { ...this.#target, subresource: 'status' };
    this.#actor = createActor(this.#machine(), {
      id: 'node',
      input: {
        registersItself: settings.registerNode,
        leaseDurationSeconds: settings.nodeLeaseDurationSeconds,
        now: clock.now(),
      },
      ...(parent && { parent }),
      ...(inspect && { inspect }),
    });
    this.#actor.subscribe({ error: (error: unknown) => this.#failed(error) });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  /** The Node object as the server told it last; undefined if there is none, or it is not known. */
  get node(): Node | undefined {
    return this.#latest;
  }

  get current(): ClusterNodeState {
    const { value, context } = this.#actor.getSnapshot();
    const state = typeof value === 'string' ? value : (Object.keys(value)[0] as keyof typeof value);
    return { state, since: context.since, problem: context.problem };
  }

  get ownership(): Ownership {
    return this.#actor.getSnapshot().context;
  }

  /** The Node object exists and is of this machine. */
  get isRegistered(): boolean {
    return this.#actor.getSnapshot().hasTag('isRegistered');
  }

  start(): void {
    this.#actor.start();
    this.#send({ type: 'START', now: this.#options.clock.now() });
  }

  /** What the watch of the own Node object shows. Undefined: there is no such object. */
  seen(node: Node | undefined): void {
    this.#latest = node;
    if (node?.metadata.uid !== this.#actor.getSnapshot().context.uid) this.reportNow();
  }

  /** The status has changed, and the cluster is to know it now: the node is Ready, or not Ready any more. */
  reportNow(): void {
    this.#send({ type: 'REPORT_NOW' });
  }

  /** Resolves when no report is under way. */
  async settled(): Promise<void> {
    await waitFor(this.#actor, (snapshot) => !snapshot.matches({ Registered: 'Reporting' }));
  }

  stop(): void {
    this.#isStopped = true;
    this.#disarm();
    this.#life.abort();
    if (this.#options.parent === undefined) this.#actor.stop();
  }

  #machine(): typeof nodeMachine {
    const { settings, random, clock, isReady } = this.#options;
    const due = () => this.#send({ type: 'DUE', now: clock.now() });
    const quickLook = () => this.#send({ type: 'QUICK_LOOK', isReady: isReady(), now: clock.now() });
    return nodeMachine.provide({
      actions: {
        armRegistration: ({ context }) => this.#timer.arm(registrationDelayMs(context.failures), due),
        armLook: () => this.#timer.arm(lookDelayMs(settings.nodeStatusUpdateFrequencyMs, random()), due),
        armQuickLook: () => this.#quickTimer.arm(QUICK_LOOK_PERIOD_MS, quickLook),
        disarmTimers: () => this.#disarm(),
        register: ({ context }) => void this.#ask('REGISTRATION_FAILED', () => this.#registered(context)),
        lookForNode: ({ context }) => void this.#ask('LOOK_FAILED', () => this.#found(context)),
        report: ({ context }) => void this.#ask('REPORT_FAILED', () => this.#reported(context)),
        lookAtOther: ({ context }) => void this.#ask('LOOK_FAILED', () => this.#seenOther(context)),
        tellRegistered: ({ context }) => this.#tellRegistered(context),
        tellLost: () => this.#tellLost(),
        reportFailure: ({ context, event }) => this.#reportFailure(context, event),
        reportMissing: () => this.#reportMissing(),
        reportOther: ({ context }) => this.#reportOther(context),
        reportTakeOver: ({ context }) => this.#reportTakeOver(context),
      },
    });
  }

  // Requests

  async #ask(
    failure: 'REGISTRATION_FAILED' | 'LOOK_FAILED' | 'REPORT_FAILED',
    ask: () => Promise<NodeEvent>,
  ): Promise<void> {
    try {
      this.#send(await ask());
    } catch (error) {
      this.#send({ type: failure, problem: errorMessage(error), now: this.#options.clock.now() });
    }
  }

  /** Creates the object, or makes the existing one fit this node. */
  async #registered(context: NodeContext): Promise<NodeEvent> {
    const { api, registration, clock } = this.#options;
    const initial = await this.#built(initialNode(registration));
    let existing: Node | undefined;
    try {
      const created = await api.create<Node>({ resource: 'nodes' }, initial.node, this.#requestOptions);
      return this.#accepted(created, initial);
    } catch (error) {
      if (!mayExist(errorKind(error))) throw error;
      existing = await this.#gotten<Node>(this.#target);
      if (existing === undefined) throw error;
    }
    const other = otherMachine(existing, identityOf(initial.node), context);
    if (other !== undefined) return { type: 'OTHER_MACHINE', other, now: clock.now() };
    const patch = registrationPatch(initial.node, existing, false);
    if (patch === undefined) return this.#accepted(existing, initial);
    return this.#accepted(await api.patch<Node>(this.#status, patch, this.#requestOptions), initial);
  }

  #accepted(node: Node, { events }: NodeStatusUpdate): NodeEvent {
    this.#latest = node;
    this.#untold = events;
    return { type: 'REGISTERED', uid: node.metadata.uid ?? '', now: this.#options.clock.now() };
  }

  async #found(context: NodeContext): Promise<NodeEvent> {
    const { clock } = this.#options;
    const node = await this.#read();
    if (node === undefined) return { type: 'NODE_MISSING', now: clock.now() };
    const { node: rebuilt } = await this.#built(node);
    const other = otherMachine(node, identityOf(rebuilt), context);
    if (other !== undefined) return { type: 'OTHER_MACHINE', other, now: clock.now() };
    return { type: 'NODE_FOUND', uid: node.metadata.uid ?? '', now: clock.now() };
  }

  /** The first try begins with what is known, further ones ask the server. */
  async #reported(context: NodeContext): Promise<NodeEvent> {
    const facts = await this.#options.facts();
    const known = context.failures === 0 ? this.#latest : undefined;
    if (known !== undefined) {
      const built = this.#build(known, facts);
      // What is known may be old: nothing is concluded from it but what to send.
      if (otherMachine(known, identityOf(built.node), context) === undefined) return this.#sent(known, built);
    }
    const { clock } = this.#options;
    const current = await this.#read();
    if (current === undefined) return { type: 'NODE_MISSING', now: clock.now() };
    const built = await this.#built(current);
    const other = otherMachine(current, identityOf(built.node), context);
    if (other !== undefined) return { type: 'OTHER_MACHINE', other, now: clock.now() };
    return this.#sent(current, built);
  }

  async #sent(before: Node, built: NodeStatusUpdate): Promise<NodeEvent> {
    const { api, settings, clock, random } = this.#options;
    const frequencyMs = settings.nodeStatusReportFrequencyMs;
    const hasChanged = nodeHasChanged(before, built.node);
    let node = before;
    if (hasChanged || isReportDue(this.#record, frequencyMs, clock.now())) {
      const patch = nodePatch(before, built.node);
      try {
        node = await api.patch<Node>(this.#status, patch, this.#requestOptions);
      } catch (error) {
        if (hasReason(error, 'NotFound')) return { type: 'NODE_MISSING', now: clock.now() };
        throw error;
      }
      this.#latest = node;
      this.#record = sentReport(this.#record, hasChanged, frequencyMs, random(), clock.now());
    }
    this.#told = built.told;
    this.#recordEvents(built.events);
    const { uid = '' } = node.metadata;
    return { type: 'REPORTED', uid, isReady: isReady(built.node), now: clock.now() };
  }

  /** Whether the other machine, or its agent, still runs. */
  async #seenOther(context: NodeContext): Promise<NodeEvent> {
    const found = await this.#found(context);
    if (found.type !== 'OTHER_MACHINE') return found;
    const { clock, registration } = this.#options;
    const { nodeName: name } = registration;
    const lease = await this.#gotten<Lease>({ resource: 'leases', namespace: LEASE_NAMESPACE, name });
    return { type: 'OTHER_SEEN', version: lease?.metadata?.resourceVersion, now: clock.now() };
  }

  async #read(): Promise<Node | undefined> {
    this.#latest = await this.#gotten<Node>(this.#target);
    return this.#latest;
  }

  async #gotten<T extends ApiObject>(target: ObjectReference): Promise<T | undefined> {
    try {
      return await this.#options.api.get<T>(target, this.#requestOptions);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #built(node: Node): Promise<NodeStatusUpdate> {
    return this.#build(node, await this.#options.facts());
  }

  #build(node: Node, facts: NodeStatusFacts): NodeStatusUpdate {
    const built = buildNodeStatus(node, facts, this.#told);
    this.#reportProblems(built.problems);
    return built;
  }

  get #requestOptions(): RequestOptions {
    const { nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds } = this.#options.settings;
    const timeoutMs = Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 1000);
    return { timeoutMs, signal: this.#life.signal };
  }

  // What others hear

  #send(event: NodeEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #tellRegistered({ uid = '' }: NodeContext): void {
    if (uid === this.#registeredUid) return;
    const { logger, registration, onRegistered } = this.#options;
    const how = this.#registeredUid === undefined ? 'is registered' : 'was made anew by another client';
    this.#registeredUid = uid;
    logger.info({ uid }, `The Node object ${registration.nodeName} ${how}`);
    onRegistered(uid);
    this.#recordEvents(this.#untold);
    this.#untold = [];
  }

  #tellLost(): void {
    this.#registeredUid = undefined;
    this.#options.onLost();
  }

  #recordEvents(events: NodeStatusUpdate['events']): void {
    for (const { type, reason, message } of events) this.#options.recorder.nodeEvent(type, reason, message);
  }

  #reportProblems(problems: readonly string[]): void {
    const text = problems.join('; ');
    if (text === this.#problems) return;
    this.#problems = text;
    if (text !== '') this.#options.logger.warn({}, `A part of the node's status stays as it was: ${text}`);
  }

  /** Each new problem is a line, not each try. `context`: before the failure. */
  #reportFailure({ problem }: NodeContext, event: NodeEvent): void {
    if (!('problem' in event)) return;
    const isNew = !isSameProblem(event.problem, problem);
    this.#options.logger[isNew ? 'warn' : 'debug']({}, `${FAILED[event.type]}: ${event.problem}`);
  }

  #reportMissing(): void {
    const { logger, registration } = this.#options;
    const name = registration.nodeName;
    logger.warn({}, `The Node object ${name} was deleted. Restart the agent to register the node again`);
  }

  #reportOther({ other = '' }: NodeContext): void {
    const { logger, recorder, registration } = this.#options;
    const message = `The Node object ${registration.nodeName} is of another machine: ${other}`;
    const advice = 'It is not changed while that machine renews its lease. Give this node another name';
    logger.error({}, `${message}. ${advice}`);
    recorder.nodeEvent('Warning', 'NodeNameTaken', message);
  }

  #reportTakeOver({ other = '' }: NodeContext): void {
    const { logger, registration } = this.#options;
    const stopped = `the machine of the Node object ${registration.nodeName} does not renew its lease any more`;
    logger.warn({}, `This node takes over: ${stopped} (${other})`);
  }

  #disarm(): void {
    this.#timer.disarm();
    this.#quickTimer.disarm();
  }

  #failed(error: unknown): void {
    this.#disarm();
    const message = `The actor of the Node object failed, and does not run any more: ${errorMessage(error)}`;
    this.#options.logger.error({ err: error }, message);
  }
}

const FAILED = {
  REGISTRATION_FAILED: 'The node could not be registered, and is tried again',
  LOOK_FAILED: 'The Node object could not be read, and is tried again',
  REPORT_FAILED: "The node's status could not be reported, and is tried again",
} as const;

function identityOf({ status }: Node): MachineIdentity {
  return status?.nodeInfo ?? NO_NODE_INFO;
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
