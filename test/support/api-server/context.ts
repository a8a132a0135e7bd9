/** The parts that all parts of the double share. */
import type { ApiStore, StoredObject } from '../../../src/simulation/api/api-store.ts';

/** Where the double listens, whose certificates it trusts, and which parts of a control plane it plays beside the API server. */
export interface DoubleOptions {
  /** Of the certificates, as `CertificateAuthority` has them, and of the journal. */
  readonly dir: string;
  readonly port: number;
  /** Makes service accounts, signs certificates, removes the remains of owners and namespaces, … */
  readonly controllers: boolean;
  /** Binds pods to nodes. */
  readonly scheduler: boolean;
  /** Whether each pod gets a service account, which has to exist. */
  readonly serviceAccounts: boolean;
}

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type Store = ApiStore<string>;

/** An object of any kind, as a client has sent it. */
export type Draft = Record<string, any>;

/** A stored object of which more is read than its metadata. */
export type AnyObject = StoredObject & Draft;

export const MASTERS = 'system:masters';
export const NODES = 'system:nodes';
const NODE_USER = 'system:node:';
export const ACCOUNT_USER = 'system:serviceaccount:';

/** The node that the user is; undefined for everybody else. */
export function nodeOf({ name, groups }: User): string | undefined {
  return name.startsWith(NODE_USER) && groups.includes(NODES) ? name.slice(NODE_USER.length) : undefined;
}
