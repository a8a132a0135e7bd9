import type { ActorContext } from '../../src/agent/actors/actor-context.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { AgentContext } from '../../src/types/agent-context.ts';
import type { Clock } from '../../src/types/clock.ts';
import type {
  ContainerReference,
  EventRecorder,
  NodeEventRecorder,
  PodReference,
} from '../../src/types/event-recorder.ts';
import { silentLogger } from './silent-logger.ts';

export interface RecordedEvent {
  /** The name of the pod; `node` for an event about the node. */
  readonly about: string;
  readonly uid?: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly container?: string;
}

/** Keeps the recorded events. */
export class RecordedEvents implements EventRecorder, NodeEventRecorder {
  readonly all: RecordedEvent[] = [];

  event(
    { name, uid }: PodReference,
    type: RecordedEvent['type'],
    reason: string,
    message: string,
    about?: ContainerReference,
  ): void {
    this.all.push({ about: name, uid, type, reason, message, ...about });
  }

  nodeEvent(type: RecordedEvent['type'], reason: string, message: string): void {
    this.all.push({ about: 'node', type, reason, message });
  }

  get reasons(): readonly string[] {
    return this.all.map(({ reason }) => reason);
  }

  get messages(): readonly string[] {
    return this.all.map(({ message }) => message);
  }
}

/** A recorder of events with only the members that a test needs. */
export function recorderOf(own: Partial<AgentContext['recorder']>): AgentContext['recorder'] {
  return { event: () => undefined, nodeEvent: () => undefined, ...own };
}

/** A clock that only has the time, without timers. */
export function clockOf(now: () => number): Clock {
  return { now, setTimeout: () => 0, clearTimeout: () => undefined };
}

interface Defaults extends ActorContext {
  readonly clock: VirtualClock;
  readonly recorder: RecordedEvents;
}

/** A context for parts of an agent: by default with a virtual clock, without chance, without a log, and with the recorded events. */
export function testContext(): Defaults;
export function testContext<More extends Partial<ActorContext>>(
  more: More & Partial<ActorContext>,
): Omit<Defaults, keyof NoInfer<More>> & NoInfer<More>;
export function testContext(more: Partial<ActorContext> = {}): ActorContext {
  const defaults = {
    clock: new VirtualClock(),
    random: () => 0,
    logger: silentLogger,
    recorder: new RecordedEvents(),
  };
  return { ...defaults, ...more };
}
