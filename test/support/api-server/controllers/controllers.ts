/** The controllers of a control plane, as far as a node or a test sees their work. */
import type { CertificateAuthority } from '../../control-plane/certificates.ts';
import type { ApiObjects } from '../api-objects.ts';
import type { Authorization } from '../authorization.ts';
import type { DoubleOptions, Store } from '../context.ts';
import { signRequests } from './certificate-signer.ts';
import { countBudgets } from './disruption.ts';
import { establishDefinitions } from './custom-definitions.ts';
import { collectGarbage } from './garbage.ts';
import { keepNamespaces } from './namespaces.ts';
import { keepNodes } from './nodes.ts';
import { schedulePods } from './scheduler.ts';
import { collectPods } from './pod-gc.ts';
import { evictByTaints } from './taint-eviction.ts';
import { bindClaims } from './volume-binder.ts';

export interface ControlledServer {
  readonly store: Store;
  readonly objects: ApiObjects;
  readonly authorization: Authorization;
  readonly ca: CertificateAuthority;
  readonly now: () => number;
}

export interface ControllerHost extends ControlledServer {
  /** To look at all objects again after that time. */
  readonly again: (afterMs: number) => void;
}

/** Brings the objects closer to what they should be. It looks at all of them anew after each change. */
type Controller = (host: ControllerHost) => void;

/** Signing, garbage and the rest of the controller manager. */
const MANAGER: readonly Controller[] = [
  keepNamespaces,
  collectGarbage,
  signRequests,
  countBudgets,
  bindClaims,
  keepNodes,
  evictByTaints,
  collectPods,
];

export function startControllers(server: ControlledServer, options: DoubleOptions): void {
  const controllers = [
    // A part of the API server itself.
    establishDefinitions,
    ...(options.controllers ? MANAGER : []),
    ...(options.scheduler ? [schedulePods] : []),
  ];
  let isDue = false;
  let [later, dueMs]: [NodeJS.Timeout | undefined, number] = [undefined, Infinity];
  // The soonest counts. A controller that waits longer asks again then.
  function again(afterMs: number): void {
    if (Date.now() + afterMs >= dueMs) return;
    clearTimeout(later);
    dueMs = Date.now() + afterMs;
    later = setTimeout(wake, afterMs);
  }
  const { store, objects, authorization, ca, now } = server;
  const host: ControllerHost = { store, objects, authorization, ca, now, again };
  const run = () => {
    isDue = false;
    clearTimeout(later);
    dueMs = Infinity;
    for (const controller of controllers) controller(host);
  };
  // Not at once: watchers must get a change before the next one.
  function wake(): void {
    if (isDue) return;
    isDue = true;
    setImmediate(run);
  }
  store.changes.subscribe(wake);
  wake();
}
