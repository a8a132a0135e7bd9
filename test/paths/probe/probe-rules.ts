/** What a probe has to do, by what it was shown and not by its machine: the replay checks that it does it. */
import type { ProbeKind } from '../../../src/policies/probes/probe.ts';
import type { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Call, CallObserver } from '../../support/steered-runtime.ts';
import { INITIAL_DELAY_MS, type ProbeState, type World } from './probe-environment.ts';
import type { ProbedContainer } from './probed-container.ts';

/** A pod's status has whole seconds. */
const STATUS_RESOLUTION_MS = 999;

export class ProbeRules implements CallObserver {
  readonly #kind: ProbeKind;
  readonly #clock: VirtualClock;
  readonly #container: ProbedContainer;
  readonly #runs = new Set<Call>();
  readonly #broken: string[] = [];
  /** Instances whose final result is known: they are not probed any more. */
  readonly #settled = new Set<string>();
  #shown: World | undefined;
  #told: string[] = [];
  #deadline: number | undefined;

  constructor(kind: ProbeKind, clock: VirtualClock, container: ProbedContainer) {
    this.#kind = kind;
    this.#clock = clock;
    this.#container = container;
  }

  get hasRun(): boolean {
    return this.#runs.size > 0;
  }

  begun(call: Call): void {
    if (call.method !== 'execSync') return;
    const id = String(call.args[0]);
    if (!this.#container.isRunning(id)) this.#broken.push('a command is run, and the container does not run');
    if (this.#container.ageMs(id) < INITIAL_DELAY_MS - STATUS_RESOLUTION_MS)
      this.#broken.push('a command is run before the initial delay is over');
    if (this.#settled.has(id)) this.#broken.push('a container is probed whose final result is known');
    this.#runs.add(call);
  }

  ended(call: Call): void {
    this.#runs.delete(call);
  }

  told(result: string): void {
    this.#told.push(result);
  }

  /** Called before the probe receives the event of the step. */
  stepBegins(): void {
    this.#told = [];
    this.#deadline = this.#nextAt();
  }

  /** The probe has read this, or reads it next. */
  shows(world: World | undefined): void {
    this.#shown = world;
  }

  broken(before: ProbeState | undefined, { value, context }: ProbeState): readonly string[] {
    const { containerId = '', result } = context.record;
    const isNewOutcome = before?.value === 'Probing' && value !== 'Draining' && value !== 'Stopped';
    const expected = isNewOutcome && result !== before.context.record.result ? [result] : [];
    if (
      expected.includes('Failure')
        ? this.#kind !== 'readiness'
        : expected.length > 0 && this.#kind === 'startup'
    )
      this.#settled.add(containerId);
    const wants = this.#shown?.state === 'running' && !this.#settled.has(containerId);
    const isAtWork = value === 'Waiting' || value === 'Probing';
    const isSame = before?.value === 'Waiting' && before.context.record.containerId === containerId;
    const found = {
      'the timer is armed and should not be, or the other way round':
        this.#clock.armed !== (value === 'Waiting' ? 1 : 0),
      'while probing there is not exactly one run': this.#runs.size !== 1 && value === 'Probing',
      'a run goes on in Waiting or Idle': this.hasRun && (value === 'Waiting' || value === 'Idle'),
      'a run has not been aborted':
        value !== 'Probing' && [...this.#runs].some(({ signal }) => !signal?.aborted),
      'a container that should be probed is not': wants && value === 'Idle',
      'a container is probed that should not be': !wants && isAtWork,
      'the timer was armed again for the same instance':
        isSame && value === 'Waiting' && this.#nextAt() !== this.#deadline,
      'a changed result is not reported exactly once':
        JSON.stringify(this.#told) !== JSON.stringify(expected),
    };
    return [...this.#broken, ...Object.keys(found).filter((what) => found[what as keyof typeof found])];
  }

  #nextAt(): number | undefined {
    const { nextInMs } = this.#clock;
    return nextInMs === undefined ? undefined : this.#clock.now() + nextInMs;
  }
}
