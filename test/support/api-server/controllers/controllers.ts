/** The controllers of a control plane, as far as a node or a test sees what they do. */
import type { CertificateAuthority } from '../../control-plane/certificates.ts';
import type { ApiObjects } from '../api-objects.ts';
import type { Authorization } from '../authorization.ts';
import type { DoubleOptions, Store } from '../context.ts';
import { signRequests } from './certificate-signer.ts';
import { countBudgets } from './disruption.ts';
import { collectGarbage } from './garbage.ts';
import { keepNamespaces } from './namespaces.ts';
import { keepNodes } from './nodes.ts';
import { schedulePods } from './scheduler.ts';
import { bindClaims } from './volume-binder.ts';

export interface ControllerHost {
  readonly store: Store;
  readonly objects: ApiObjects;
  readonly authorization: Authorization;
  readonly ca: CertificateAuthority;
  readonly now: () => number;
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
];

export function startControllers(host: ControllerHost, options: DoubleOptions): void {
  const controllers = [...(options.controllers ? MANAGER : []), ...(options.scheduler ? [schedulePods] : [])];
  if (controllers.length === 0) return;
  let isDue = false;
  const run = () => {
    isDue = false;
    for (const controller of controllers) controller(host);
  };
  // Not at once: others have to hear of a change before they hear of the next one.
  const wake = () => {
    if (isDue) return;
    isDue = true;
    setImmediate(run);
  };
  host.store.changes.subscribe(wake);
  wake();
}
