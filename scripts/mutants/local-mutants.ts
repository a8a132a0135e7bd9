/** Mutants of ordinary pods of manifests, which stay ended. */
import type { Mutant } from './mutant.ts';

const ENDED = 'src/agent/actors/pods/ended-pods.ts';
const DELIVERY = 'src/agent/actors/pods/pod-lifecycle.ts';
const KINDS = 'src/agent/policies/pod/pod-kinds.ts';
const POD = 'src/agent/machines/pod-machine.ts';

export const LOCAL_MUTANTS: readonly Mutant[] = [
  {
    name: 'end-not-kept',
    breaks: 'An ordinary pod of a manifest that has ended starts again with the next agent (rule 14)',
    file: ENDED,
    find: `    if (this.#isClosed || pod === undefined`,
    replace: `    if (true || this.#isClosed || pod === undefined`,
  },
  {
    name: 'kept-end-ignored',
    breaks: 'An ordinary pod of a manifest that an earlier agent has ended is started (rule 14)',
    file: DELIVERY,
    find: `const ended = { ...pod, status };`,
    replace: `const ended = pod;`,
  },
  {
    name: 'end-kept-for-the-next-life',
    breaks: 'A manifest that goes away and comes back while its pod ends brings no new pod (rule 9)',
    file: ENDED,
    find: `    if (registry.get(uid)?.actor.getSnapshot().context.restartRequested === true) return;`,
    replace: `    if (registry === undefined) return;`,
  },
  {
    name: 'end-outlives-manifest',
    breaks: 'A manifest that goes away and comes back after its pod has ended brings no new pod (rule 14)',
    file: ENDED,
    find: `    const hadEnded = this.#pods.delete(uid);`,
    replace: `    const hadEnded = this.#pods.has(uid);`,
  },
  {
    name: 'local-pods-critical',
    breaks: 'An ordinary pod of a manifest counts as static, and is not evicted',
    file: KINDS,
    find: `  return isManifestPod(pod) && !isLocalPod(pod);`,
    replace: `  return isManifestPod(pod);`,
  },
  {
    name: 'local-name-overlap',
    breaks: 'The new pod of a changed manifest starts while the old one runs (I6)',
    file: POD,
    find: `context.pod !== undefined && isManifestPod(context.pod),`,
    replace: `context.pod !== undefined && isStaticPod(context.pod),`,
  },
];
