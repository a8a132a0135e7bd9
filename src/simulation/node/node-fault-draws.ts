/** Probabilities, from 0 to 1, that a step of the node itself fails. */
export interface NodeFaults {
  readonly mount: number;
  /** A set-up of volumes takes up to two minutes. */
  readonly mountHang: number;
  /** For minutes, no set-up of a pod's volumes succeeds. */
  readonly mountOutage: number;
  readonly release: number;
  readonly pull: number;
}

export const NO_NODE_FAULTS: NodeFaults = { mount: 0, mountHang: 0, mountOutage: 0, release: 0, pull: 0 };

export interface NodeFaultDrawsOptions {
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: () => NodeFaults;
}

/** Whether a fault happens to a pod. With equal seeds, the nth question about a pod always has the same answer. */
export class NodeFaultDraws {
  readonly #options: NodeFaultDrawsOptions;
  readonly #asked = new Map<string, number>();

  constructor({ faults, random }: NodeFaultDrawsOptions) {
    this.#options = { faults, random };
  }

  happens(fault: keyof NodeFaults, uid: string): boolean {
    return this.severity(fault, uid) > 0;
  }

  /** How badly the fault happens to the pod, from 0 (not at all) to 1. */
  severity(fault: keyof NodeFaults, uid: string): number {
    const probability = this.#options.faults()[fault];
    if (probability === 0) return 0;
    const ordinal = (this.#asked.get(`${fault} ${uid}`) ?? 0) + 1;
    this.#asked.set(`${fault} ${uid}`, ordinal);
    return this.#severity(`${uid}/${fault}/${String(ordinal)}`, probability);
  }

  /** The same, but one answer for the whole life of the pod. */
  lastingSeverity(fault: keyof NodeFaults, uid: string): number {
    return this.#severity(`${uid}/${fault}`, this.#options.faults()[fault]);
  }

  #severity(key: string, probability: number): number {
    const value = this.#options.random(key);
    return value < probability ? 1 - value / probability : 0;
  }
}
