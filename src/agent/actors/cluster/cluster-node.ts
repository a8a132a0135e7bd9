/** The actor of the Node object, and its effects. */
import { type ActorRefFrom, type AnyActorRef, waitFor } from 'xstate';
import { isSameProblem } from '../../cluster/service/api-error.ts';
import { type NodeContext, type NodeEvent, nodeMachine } from '../../machines/node-machine.ts';
import type { Ownership } from '../../policies/node/machine-identity.ts';
import { registrationDelayMs } from '../../policies/node/registration.ts';
import { lookDelayMs } from '../../policies/node/status-report.ts';
import { Timer } from '../../../system/timer.ts';
import type { ClusterSettings } from '../../../types/node-settings.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Node } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';
import { NodeObject, type NodeObjectParts } from './node-object.ts';

export interface ClusterNodeParts extends Omit<NodeObjectParts, 'onBuilt'> {
  readonly settings: NodeObjectParts['settings'] & Pick<ClusterSettings, 'registerNode'>;
  /** The Node object with this UID exists and is of this machine. Called again when it has another UID. */
  readonly onRegistered: (uid: string) => void;
  /** The Node object is gone, or of another machine. */
  readonly onLost: () => void;
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
  readonly #context: ActorContext;
  readonly #parts: ClusterNodeParts;
  readonly #actor: ActorRefFrom<typeof nodeMachine>;
  /** Of registration and looks. */
  readonly #timer: Timer;
  readonly #object: NodeObject;
  #registeredUid: string | undefined;
  /** The problem in building the status that was logged last. */
  #problems = '';
  /** XState lets only a parent stop its child. After a stop, this actor gets no more events. */
  #isStopped = false;

  constructor(context: ActorContext, parts: ClusterNodeParts) {
    this.#context = context;
    this.#parts = parts;
    const { settings } = parts;
    const { clock } = context;
    this.#timer = new Timer(clock);
    this.#object = new NodeObject(context, {
      ...parts,
      onBuilt: (problems) => this.#reportProblems(problems),
    });
    this.#actor = agentActor(context, this.#machine(), {
      id: 'node',
      title: 'the Node object',
      input: {
        registersItself: settings.registerNode,
        leaseDurationSeconds: settings.nodeLeaseDurationSeconds,
        now: clock.now(),
      },
    });
    this.#actor.subscribe({ error: () => this.#timer.disarm() });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  /** The Node object as the server sent it last; undefined if there is none, or it is not known. */
  get node(): Node | undefined {
    return this.#object.latest;
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
    this.#send({ type: 'START', now: this.#context.clock.now() });
  }

  /** The watch shows this Node object. Undefined: there is none. */
  seen(node: Node | undefined): void {
    this.#object.latest = node;
    if (node?.metadata.uid !== this.#actor.getSnapshot().context.uid) this.reportNow();
  }

  /** Reports the status at once: the node has become Ready, or is not Ready any more. */
  reportNow(): void {
    this.#send({ type: 'REPORT_NOW' });
  }

  /** Resolves when no report is under way. */
  async settled(): Promise<void> {
    await waitFor(this.#actor, (snapshot) => !snapshot.matches({ Registered: 'Reporting' }));
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.disarm();
    this.#object.stop();
    if (this.#context.parent === undefined) this.#actor.stop();
  }

  #machine(): typeof nodeMachine {
    const { settings } = this.#parts;
    const { random, clock, measurements } = this.#context;
    const object = this.#object;
    const due = () => this.#send({ type: 'DUE', now: clock.now() });
    return nodeMachine.provide({
      actions: {
        armRegistration: ({ context }) => this.#timer.arm(registrationDelayMs(context.failures), due),
        armLook: () => this.#timer.arm(lookDelayMs(settings.nodeStatusUpdateFrequencyMs, random()), due),
        disarmTimer: () => this.#timer.disarm(),
        register: ({ context }) => {
          measurements?.nodeLife.registrationBegan(clock.now());
          void this.#ask('REGISTRATION_FAILED', () => object.register(context));
        },
        lookForNode: ({ context }) => void this.#ask('LOOK_FAILED', () => object.find(context)),
        report: ({ context }) => void this.#ask('REPORT_FAILED', () => object.report(context)),
        lookAtOther: ({ context }) => void this.#ask('LOOK_FAILED', () => object.lookAtOther(context)),
        tellRegistered: ({ context }) => this.#tellRegistered(context),
        tellLost: () => this.#tellLost(),
        reportFailure: ({ context, event }) => this.#reportFailure(context, event),
        reportMissing: () => this.#reportMissing(),
        reportOther: ({ context }) => this.#reportOther(context),
        reportTakeOver: ({ context }) => this.#reportTakeOver(context),
      },
    });
  }

  async #ask(
    failure: 'REGISTRATION_FAILED' | 'LOOK_FAILED' | 'REPORT_FAILED',
    ask: () => Promise<NodeEvent>,
  ): Promise<void> {
    try {
      const event = await ask();
      // Events of a registration refer to the UID of the Node object: they wait until it is known.
      if (event.type === 'REPORTED') {
        this.#recordNews();
        if (event.isReady) this.#context.measurements?.nodeLife.nodeReady(event.now);
      }
      this.#send(event);
    } catch (error) {
      this.#send({ type: failure, problem: errorMessage(error), now: this.#context.clock.now() });
    }
  }

  #send(event: NodeEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #tellRegistered({ uid = '' }: NodeContext): void {
    if (uid === this.#registeredUid) return;
    const { registration, onRegistered } = this.#parts;
    const how = this.#registeredUid === undefined ? 'is registered' : 'was made anew by another client';
    this.#registeredUid = uid;
    this.#context.logger.info({ uid }, `The Node object ${registration.nodeName} ${how}`);
    onRegistered(uid);
    this.#recordNews();
  }

  #tellLost(): void {
    this.#registeredUid = undefined;
    this.#parts.onLost();
  }

  #recordNews(): void {
    const { recorder } = this.#context;
    for (const { type, reason, message } of this.#object.takeNews())
      recorder.nodeEvent(type, reason, message);
  }

  #reportProblems(problems: readonly string[]): void {
    const text = problems.join('; ');
    if (text === this.#problems) return;
    this.#problems = text;
    if (text !== '')
      this.#context.logger.warn({}, `A part of the node's status could not be updated: ${text}`);
  }

  /** Logs a line for each new problem, not for each try. `context`: from before the failure. */
  #reportFailure({ problem }: NodeContext, event: NodeEvent): void {
    if (!('problem' in event)) return;
    const isNew = !isSameProblem(event.problem, problem);
    this.#context.logger[isNew ? 'warn' : 'debug']({}, `${FAILED[event.type]}: ${event.problem}`);
  }

  #reportMissing(): void {
    const { registration } = this.#parts;
    const name = registration.nodeName;
    this.#context.logger.warn(
      {},
      `The Node object ${name} was deleted. Restart the agent to register the node again`,
    );
  }

  #reportOther({ other = '' }: NodeContext): void {
    const { logger, recorder } = this.#context;
    const { registration } = this.#parts;
    const message = `The Node object ${registration.nodeName} is of another machine: ${other}`;
    const advice = 'It is not changed while that machine renews its lease. Give this node another name';
    logger.error({}, `${message}. ${advice}`);
    recorder.nodeEvent('Warning', 'NodeNameTaken', message);
  }

  #reportTakeOver({ other = '' }: NodeContext): void {
    const { registration } = this.#parts;
    const stopped = `the machine of the Node object ${registration.nodeName} does not renew its lease any more`;
    this.#context.logger.warn({}, `This node takes over: ${stopped} (${other})`);
  }
}

const FAILED = {
  REGISTRATION_FAILED: 'The node could not be registered, and is tried again',
  LOOK_FAILED: 'The Node object could not be read, and is tried again',
  REPORT_FAILED: "The node's status could not be reported, and is tried again",
} as const;
