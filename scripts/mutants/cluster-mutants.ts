/** Mutants of a node's part in its cluster. */
import type { Mutant } from './mutant.ts';

const WRITE = 'src/agent/policies/cluster/status-write.ts';
const CLUSTER = 'src/agent/actors/cluster/cluster-agent.ts';
const DESIRED = 'src/agent/actors/pods/desired-pods.ts';
const PLAN = 'src/agent/policies/cluster/mirror-pod.ts';
const LEASE = 'src/agent/policies/node/lease-renewal.ts';
const SOURCE = 'src/agent/sources/api-source.ts';
const WATCHES = 'src/agent/cluster/watches/reflect.ts';

export const CLUSTER_MUTANTS: readonly Mutant[] = [
  {
    name: 'pod-deleted-unfinished',
    breaks: 'A pod object is deleted before the pod is finished, with its volumes mounted',
    file: WRITE,
    find: `isTerminalPhase(status?.phase) && podIsFinished
`,
    replace: `isTerminalPhase(status?.phase)
`,
  },
  {
    name: 'end-told-while-running',
    breaks: 'A terminal phase is told while containers of the pod run',
    file: CLUSTER,
    find: `registry.couldHaveRunningContainers(uid)`,
    replace: `registry.get(uid) === undefined`,
  },
  {
    name: 'end-not-told',
    breaks: 'The API server does not hear that a deleted pod is finished: its object stays (I10)',
    file: WRITE,
    find: `  if (!canBeDeleted(pod, entry.podIsFinished)) return 'written';`,
    replace: `  if (canBeDeleted(pod, entry.podIsFinished) || pods !== undefined) return 'written';`,
  },
  {
    name: 'nothing-new-told',
    breaks: 'A status is written although the API server has it',
    file: WRITE,
    find: `  if (Object.keys(status).length === 0) return undefined;
`,
    replace: ``,
  },
  {
    name: 'mirror-of-another-version',
    breaks:
      'The status of a static pod is written to the mirror pod of its earlier version: restarts and phase go back',
    file: DESIRED,
    find: `    return isOwn ? mirrorPod : undefined;`,
    replace: `    return isOwn || mirrorPod !== undefined ? mirrorPod : undefined;`,
  },
  {
    name: 'orphaned-mirror-stays',
    breaks: 'The mirror pod of a static pod that is gone is not deleted',
    file: CLUSTER,
    find: `    this.#mirrorPods.deleteOrphans(`,
    replace: `    if (terminating.size < 0) this.#mirrorPods.deleteOrphans(`,
  },
  {
    name: 'mirror-not-made-anew',
    breaks: 'A mirror pod that a user has deleted is not made anew',
    file: PLAN,
    find: `(isOutlived || mirrorPod.metadata.deletionTimestamp !== undefined || `,
    replace: `(isOutlived || `,
  },
  {
    name: 'lease-runs-out',
    breaks: 'The lease of the node is renewed only after it has run out',
    file: LEASE,
    find: `const RENEWAL_SHARE = 0.25;`,
    replace: `const RENEWAL_SHARE = 1.25;`,
  },
  {
    name: 'silence-is-removal',
    breaks: 'Pods are removed when the API server does not answer (rule 3)',
    file: SOURCE,
    find: `    for (const read of reads) {`,
    replace: `    for (const read of problem === undefined ? reads : []) {`,
  },
  {
    name: 'expired-watch-goes-on',
    breaks:
      'After a watch that has expired the pods are not listed anew: what happened meanwhile is missed (I7)',
    file: WATCHES,
    find: `return error instanceof ApiError && error.status === 429 ? 'watch' : 'list';`,
    replace: `return 'watch';`,
  },
];
