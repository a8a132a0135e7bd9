/** The registered DRA drivers of this node, and the health of devices that they report. */
import {
  type ClaimDevice,
  type ClaimDeviceHealth,
  type ClaimKey,
  type ClaimState,
  preparedProblem,
} from '../../policies/dra/claim-devices.ts';
import {
  type HealthList,
  healthIn,
  withHealth,
  type ReportedHealth,
} from '../../policies/dra/device-health-list.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { StateletError } from '../../../types/errors.ts';
import { allOrFirstFailure } from '../../../system/promises.ts';
import { ClaimCalls } from './claim-calls.ts';
import type { DraDriver } from './dra-driver.ts';
import type { PreparedAnswer, UnpreparedAnswer } from './dra-messages.ts';

export class NodeDrivers {
  readonly #context: AgentContext;
  readonly #drivers = new Map<string, DraDriver>();
  readonly #health = new Map<string, HealthList>();
  readonly #preparing = new ClaimCalls<PreparedAnswer>('NodePrepareResources', (driver, ...asked) =>
    driver.prepare(...asked),
  );
  readonly #unpreparing = new ClaimCalls<UnpreparedAnswer>('NodeUnprepareResources', (driver, ...asked) =>
    driver.unprepare(...asked),
  );

  constructor(context: AgentContext) {
    this.#context = context;
  }

  /** Replaces a former driver of that name: closing that one ends its calls. */
  register(driver: DraDriver): void {
    this.#drivers.set(driver.name, driver);
  }

  unregister(driver: DraDriver): void {
    if (this.#drivers.get(driver.name) === driver) this.#drivers.delete(driver.name);
  }

  /** Throws where there is none of that name. */
  get(name: string): DraDriver {
    const driver = this.#drivers.get(name);
    if (driver !== undefined) return driver;
    throw new StateletError('Unavailable', `DRA driver ${name} is not registered`);
  }

  /** Resolves to the devices by driver. If one fails, it rejects only when all drivers have answered. */
  async prepare(claim: ClaimState, asker: string, signal: AbortSignal): Promise<ClaimState['drivers']> {
    const drivers = new Map<string, readonly ClaimDevice[]>();
    const work = Object.keys(claim.drivers).map(async (name) => {
      const { devices } = await this.#preparing.ask(this.get(name), asker, keyOf(claim), signal);
      const problem = preparedProblem(devices);
      if (problem !== undefined) {
        const message = `NodePrepareResources: the answer of DRA driver ${name} for ResourceClaim ${claim.name} is refused: ${problem}`;
        throw new StateletError('ResourceExhausted', message);
      }
      drivers.set(name, devices);
    });
    await allOrFirstFailure(work);
    return Object.fromEntries(drivers);
  }

  async unprepare(claim: ClaimState, asker: string, signal: AbortSignal): Promise<void> {
    const names = Object.keys(claim.drivers);
    await allOrFirstFailure(
      names.map(async (name) => this.#unpreparing.ask(this.get(name), asker, keyOf(claim), signal)),
    );
  }

  /** Returns whether the health of a device has changed. */
  takeHealth(driver: string, reported: readonly ReportedHealth[]): boolean {
    const now = this.#context.clock.now();
    const before = this.#health.get(driver);
    const after = withHealth(before, reported, now);
    this.#health.set(driver, after);
    return reported.some(({ device }) => {
      if (device === undefined) return false;
      const [was, is] = [healthIn(before, device, now), healthIn(after, device, now)];
      return was.health !== is.health || was.message !== is.message;
    });
  }

  forgetHealth(driver: string): boolean {
    return this.#health.delete(driver);
  }

  readonly healthOf = (driver: string, device: ClaimDevice): ClaimDeviceHealth =>
    healthIn(this.#health.get(driver), device, this.#context.clock.now());
}

function keyOf({ uid, namespace, name }: ClaimKey): ClaimKey {
  return { uid, namespace, name };
}
