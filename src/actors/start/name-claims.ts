import {
  type ClaimDecision,
  type NameClaim,
  releaseName,
  requestName,
} from '../../policies/admission/name-claim.ts';

/** Who holds which static full name on this node (lifecycle 10, I6). */
export class NameClaims {
  readonly #claims = new Map<string, NameClaim>();

  /** Whether `uid` may start under the name now; if not, it is granted by a later `release`. */
  request(fullName: string, uid: string): boolean {
    return this.#decide(fullName, requestName(this.#claims.get(fullName), uid)) === uid;
  }

  /** Returns the UID that may start now, if any. */
  release(fullName: string, uid: string): string | undefined {
    return this.#decide(fullName, releaseName(this.#claims.get(fullName), uid));
  }

  #decide(fullName: string, { claim, granted }: ClaimDecision): string | undefined {
    if (claim === undefined) this.#claims.delete(fullName);
    else this.#claims.set(fullName, claim);
    return granted;
  }
}
