/** What a probe owes its container, whatever its machine says: by what it was shown, and by what it then does. */
import type { ProbeKind } from '../../../src/policies/probes/probe.ts';
import type { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Call, CallWitness } from '../../support/steered-runtime.ts';
import { INITIAL_DELAY_MS, type ProbeState, type World } from './probe-environment.ts';
import type { ProbedContainer } from './probed-container.ts';

/** A pod's status tells whole seconds. */
const STATUS_RESOLUTION_MS = 999;

export class ProbeRules implements CallWitness {
  readonly #kind: ProbeKind;
  readonly #clock: VirtualClock;
  readonly #container: ProbedContainer;
  readonly #runs = new Set<Call>();
  readonly #broken: string[] = [];
  /** Instances of which nothing remains to be found out. */
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
    if (!this.#container.isRunning(id)) this.#broken.push('a command is run where nothing runs');
    if (this.#container.ageMs(id) < INITIAL_DELAY_MS - STATUS_RESOLUTION_MS)
      this.#broken.push('a command is run before its time');
    if (this.#settled.has(id)) this.#broken.push('what is settled is asked again');
    this.#runs.add(call);
  }

  ended(call: Call): void {
    this.#runs.delete(call);
  }

  told(result: string): void {
    this.#told.push(result);
  }

  /** Before the probe hears of anything. */
  stepBegins(): void {
    this.#told = [];
    this.#deadline = this.#nextAt();
  }

  /** The probe has looked, or looks next. */
  shows(world: World | undefined): void {
    this.#shown = world;
  }

  broken(before: ProbeState | undefined, { value, context }: ProbeState): readonly string[] {
    const { containerId = '', result } = context.record;
    const isNews = before?.value === 'Probing' && value !== 'Draining' && value !== 'Stopped';
    const expected = isNews && result !== before.context.record.result ? [result] : [];
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
      'the timer is armed, or is not': this.#clock.armed !== (value === 'Waiting' ? 1 : 0),
      'not one run while probing': this.#runs.size !== 1 && value === 'Probing',
      'a run beside waiting': this.hasRun && (value === 'Waiting' || value === 'Idle'),
      'a run goes on': value !== 'Probing' && [...this.#runs].some(({ signal }) => !signal?.aborted),
      'a container that could be probed is not': wants && value === 'Idle',
      'probes what cannot be': !wants && isAtWork,
      'waits anew for the same': isSame && value === 'Waiting' && this.#nextAt() !== this.#deadline,
      'news is not told once': JSON.stringify(this.#told) !== JSON.stringify(expected),
    };
    return [...this.#broken, ...Object.keys(found).filter((what) => found[what as keyof typeof found])];
  }

  #nextAt(): number | undefined {
    const { nextInMs } = this.#clock;
    return nextInMs === undefined ? undefined : this.#clock.now() + nextInMs;
  }
}
