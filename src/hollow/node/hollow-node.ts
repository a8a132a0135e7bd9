/** One hollow node: its machine, and the agent that runs there now. */
import type { Fleet } from './fleet.ts';
import { HollowAgent } from './hollow-agent.ts';
import { HollowMachine } from './hollow-machine.ts';

export class HollowNode {
  readonly name: string;
  readonly machine: HollowMachine;
  readonly #fleet: Fleet;
  #agent: HollowAgent | undefined;
  #isOff = false;

  constructor(fleet: Fleet, name: string) {
    this.name = name;
    this.#fleet = fleet;
    const { plan, volumesOf } = fleet;
    this.machine = new HollowMachine({
      plan,
      name,
      volumesOf,
      specOf: (uid) => this.#agent?.podOf(uid)?.spec,
    });
  }

  /** Undefined while the node is dead. */
  get agent(): HollowAgent | undefined {
    return this.#agent;
  }

  /** Powers the machine on, and starts its agent. */
  start(): void {
    if (this.#agent) return;
    if (this.#isOff) this.machine.powerOn();
    this.#isOff = false;
    this.#agent = new HollowAgent(this.#fleet, this.machine);
  }

  /** The power is cut: nothing is sent to the API server. */
  kill(): void {
    if (this.#isOff) return;
    this.#isOff = true;
    this.#agent?.crash();
    this.#agent = undefined;
    this.machine.powerOff();
  }

  /** The agent alone dies and starts again. */
  restart(): void {
    if (this.#isOff) return;
    this.#agent?.crash();
    this.#agent = undefined;
    this.start();
  }

  async stop(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.stop();
  }
}
