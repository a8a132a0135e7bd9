/** What a simulated DRA driver does for claims. */
import type { ClaimKey } from '../../agent/policies/dra/claim-devices.ts';
import { StateletError } from '../../types/errors.ts';
import type { DriverService } from './driver-process.ts';

/** Sees the calls of agents to a DRA driver, and what the driver does. */
export interface DraWitness {
  /** An agent asks for the claim to be prepared. */
  asked(claimUID: string): void;
  /** The driver is about to do it. */
  prepares(claimUID: string): void;
  unprepares(claimUID: string): void;
}

interface ClaimsRequest {
  readonly claims?: readonly ClaimKey[];
}

/** The prefix of the CDI device that gives a container the devices of a claim. */
const DEVICE_PREFIX = 'dra.example/gpu=';

export function claimOfDevice(id: string): string {
  return id.slice(DEVICE_PREFIX.length);
}

export class DraDriverService implements DriverService {
  readonly type = 'DRAPlugin';
  readonly versions = ['v1.DRAPlugin'];
  readonly name: string;
  readonly #witness: DraWitness;

  constructor(name: string, witness: DraWitness) {
    this.name = name;
    this.#witness = witness;
  }

  subjectsOf(_method: string, request: unknown): readonly string[] {
    return ((request as ClaimsRequest).claims ?? []).map(({ uid }) => uid);
  }

  asked(method: string, request: unknown): void {
    if (method === 'NodePrepareResources')
      for (const uid of this.subjectsOf(method, request)) this.#witness.asked(uid);
  }

  carryOut(method: string, request: unknown): unknown {
    const { claims = [] } = request as ClaimsRequest;
    const answers = claims.map(({ uid, name }) => [uid, this.#answer(method, uid, name)] as const);
    return { claims: Object.fromEntries(answers) };
  }

  #answer(method: string, uid: string, name: string): object {
    switch (method) {
      case 'NodePrepareResources': {
        this.#witness.prepares(uid);
        const device = {
          requests: ['gpu'],
          pool: 'pool',
          device: name,
          cdiIds: [DEVICE_PREFIX + uid],
          shareId: '',
        };
        return { devices: [device], error: '' };
      }
      case 'NodeUnprepareResources':
        this.#witness.unprepares(uid);
        return { error: '' };
      default:
        throw new StateletError('Unimplemented', method);
    }
  }
}
