import type { Clock } from './clock.ts';
import type { EventRecorder, NodeEventRecorder } from './event-recorder.ts';
import type { Logger } from './logger.ts';
import type { Measurements } from './measurements.ts';

/**
 * What every part of an agent works with. It is one value, made where the agent is put together (the daemon, run-once, the simulation, a
 * test), and is handed on whole, as the first argument: `new Part(context, { its own parts })`. A part takes from it what it needs. What
 * is different for some parts is put into a copy: `{ ...context, random }`.
 */
export interface AgentContext {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly recorder: EventRecorder & NodeEventRecorder;
  /** Without them nothing is measured. */
  readonly measurements?: Measurements;
}
