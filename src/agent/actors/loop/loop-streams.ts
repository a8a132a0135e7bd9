import { NEVER, type Observable, Subscription } from 'rxjs';
import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';

const HOUSEKEEPING_PERIOD_MS = 2_000;

export interface LoopStreamsParts {
  readonly pleg: Pick<Pleg, 'changes'>;
  /** The events of the sources. */
  readonly configuration: Observable<SupervisorEvent>;
  /** UIDs of pods whose objects at the API server have changed. */
  readonly objectChanges?: Observable<string>;
  readonly send: (event: SupervisorEvent) => void;
  readonly onHousekeeping: () => void;
}

/** The streams from which the supervisor's loop gets its events. */
export class LoopStreams {
  readonly #parts: LoopStreamsParts;
  readonly #subscriptions = new Subscription();
  readonly #housekeeping: Timer;

  constructor({ clock }: AgentContext, parts: LoopStreamsParts) {
    this.#parts = parts;
    this.#housekeeping = new Timer(clock);
  }

  /** All streams but the configuration. */
  start(): void {
    const { pleg, objectChanges = NEVER, send } = this.#parts;
    this.#route(pleg.changes, (uid) => send({ type: 'PLEG', uid }));
    this.#route(objectChanges, (uid) => send({ type: 'SYNC', uids: [uid] }));
    this.#armHousekeeping();
  }

  /** Pods begin to come. */
  startConfiguration(): void {
    const { configuration, send } = this.#parts;
    this.#route(configuration, send);
  }

  stop(): void {
    this.#subscriptions.unsubscribe();
    this.#housekeeping.disarm();
  }

  #route<T>(stream: Observable<T>, next: (value: T) => void): void {
    this.#subscriptions.add(stream.subscribe(next));
  }

  #armHousekeeping(): void {
    this.#housekeeping.arm(HOUSEKEEPING_PERIOD_MS, () => {
      this.#armHousekeeping();
      this.#parts.onHousekeeping();
    });
  }
}
