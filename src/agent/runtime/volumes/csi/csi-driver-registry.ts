import { StateletError } from '../../../../types/errors.ts';
import type { CsiDriver } from './csi-driver.ts';

/** The CSI drivers that are registered on this node, by their names. */
export class CsiDriverRegistry {
  readonly #drivers = new Map<string, CsiDriver>();

  /** The driver of a name; a former one is closed. */
  register(driver: CsiDriver): void {
    this.#drivers.get(driver.name)?.close();
    this.#drivers.set(driver.name, driver);
  }

  unregister(driver: CsiDriver): void {
    driver.close();
    if (this.#drivers.get(driver.name) === driver) this.#drivers.delete(driver.name);
  }

  /** The version of the driver; undefined if no driver of that name is registered. */
  versionOf(name: string): string | undefined {
    return this.#drivers.get(name)?.version;
  }

  /** Throws if it is not registered. `step`: for the error. */
  get(name: string, step: string): CsiDriver {
    const driver = this.#drivers.get(name);
    if (driver !== undefined) return driver;
    const message = `kubernetes.io/csi: ${step}: driver name ${name} not found in the list of registered CSI drivers`;
    throw new StateletError('Unavailable', message);
  }

  close(): void {
    for (const driver of this.#drivers.values()) driver.close();
  }
}
