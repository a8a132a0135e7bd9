/**
 * Which machine a Node object is of. Two machines with one node name would overwrite each other's status and both run its pods, so the
 * later one waits. The kubelet does not look: it takes every Node object of its name.
 */
import type { Node } from '../../../types/kubernetes.ts';

export interface MachineIdentity {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
}

/** What is known of this machine's part in the Node object. */
export interface Ownership {
  /** This agent has written its status into the object with this UID. */
  readonly writtenUid: string | undefined;
  /** The other machine that the object names does not renew its lease any more. */
  readonly mayTakeOver: boolean;
}

/**
 * The other machine that the Node object is of, in words for a message, or undefined if the object is of this machine.
 *
 * - An object without a machine was made by hand or is new: it is of this machine.
 * - Before this agent has written its status, machine ID and system UUID must both differ. One of them alone may change when a machine is
 *   installed anew, and the boot ID changes whenever it starts.
 * - Afterwards the object names this machine. If one of the three differs, another machine has written it.
 */
export function otherMachine(
  node: Node,
  own: MachineIdentity,
  { writtenUid, mayTakeOver }: Ownership,
): string | undefined {
  if (mayTakeOver) return undefined;
  const info = node.status?.nodeInfo;
  if (info === undefined) return undefined;
  const differs = (key: keyof MachineIdentity) =>
    info[key] !== '' && own[key] !== '' && info[key] !== own[key];
  const isOther =
    node.metadata.uid === writtenUid
      ? differs('machineID') || differs('systemUUID') || differs('bootID')
      : differs('machineID') && differs('systemUUID');
  return isOther ? describe(info) : undefined;
}

function describe({ machineID, systemUUID, bootID }: MachineIdentity): string {
  return `machine ID ${machineID}, system UUID ${systemUUID}, boot ID ${bootID}`;
}

/** What was seen of the lease of another machine. Its times are not compared with this machine's clock: clocks can differ by hours. */
export interface LeaseSighting {
  /** Changes whenever the lease is written. Undefined if there is no lease. */
  readonly version: string | undefined;
  /** Since when the lease has been seen at this version, by this machine's clock in Unix ms. */
  readonly since: number;
  /** How often it has been seen at this version. */
  readonly looks: number;
}

/** How often a lease must have been seen unchanged: the time alone does not suffice, because a clock may be set forward. */
const SILENT_LOOKS_MIN = 4;

export function seenLease(
  before: LeaseSighting | undefined,
  version: string | undefined,
  now: number,
): LeaseSighting {
  if (before === undefined || before.version !== version) return { version, since: now, looks: 1 };
  return { ...before, looks: before.looks + 1 };
}

/** The lease has not been renewed for as long as it is valid: its machine does not run any more, or its agent does not. */
export function isAbandoned(
  { since, looks }: LeaseSighting,
  leaseDurationSeconds: number,
  now: number,
): boolean {
  return looks >= SILENT_LOOKS_MIN && now - since >= leaseDurationSeconds * 1000;
}
