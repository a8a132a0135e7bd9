import { DesiredPods } from '../../src/agent/actors/pods/desired-pods.ts';
import {
  isMirrorPodOf,
  mirrorPodDeletion,
  newMirrorPod,
  planMirrorPod,
} from '../../src/agent/policies/cluster/mirror-pod.ts';
import {
  CONFIG_SOURCE_ANNOTATION,
  isMirrorPod,
  isStaticPod,
  parsePodFullName,
  podFullName,
} from '../../src/agent/policies/pod/pod-kinds.ts';
import { errorMessage } from '../../src/types/errors.ts';
import type { Node, Pod } from '../../src/types/kubernetes.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

type Input = { readonly fn: keyof typeof FUNCTIONS } & Readonly<Record<string, unknown>>;

interface Facts {
  readonly pod: Pod;
  readonly mirrorPod: Pod | null;
  readonly node: Node | null;
}

const FUNCTIONS = {
  isMirrorPodOf: ({ mirrorPod, pod }: { mirrorPod: Pod; pod: Pod }) => ({
    isMirrorPodOf: isMirrorPodOf(mirrorPod, pod),
  }),

  podKind: ({ pod }: { pod: Pod }) => {
    const { annotations, uid } = pod.metadata;
    const source = annotations?.[CONFIG_SOURCE_ANNOTATION];
    return {
      error: source === undefined ? `cannot get source of pod "${uid}"` : null,
      source: source ?? '',
      static: isStaticPod(pod),
      mirror: isMirrorPod(pod),
    };
  },

  parsePodFullName: ({ podFullName: text }: { podFullName: string }) =>
    orError({ name: '', namespace: '' }, () => parsePodFullName(text)),

  createMirrorPod: ({ pod, nodeName, node, existing }: Facts & { nodeName: string; existing: Pod | null }) =>
    orError({ created: null }, () => {
      const { metadata, spec } = newMirrorPod(pod, nodeName, node ?? undefined);
      // Objects of Go's client have no kind.
      const created = { metadata, spec };
      return existing ? { created, error: `pods "${pod.metadata.name}" already exists` } : { created };
    }),

  deleteMirrorPod: (input: { podFullName: string; uid?: string; existing: Pod | null }) =>
    orError({ deleted: false, request: null }, () => {
      const { existing } = input;
      const { uid, ...request } = mirrorPodDeletion(input.podFullName, input.uid);
      const deleted = existing !== null && podFullName(existing) === input.podFullName;
      return { deleted, request: { ...request, preconditionUID: uid ?? null } };
    }),

  manager: ({ steps, uids, fullNames }: ManagerInput) => {
    const desired = new DesiredPods();
    return {
      steps: steps.map((step) => {
        if (step.op === 'set') desired.clear();
        if (step.op === 'remove') desired.delete(step.pod);
        else for (const pod of step.op === 'set' ? step.pods : [step.pod]) desired.set(pod);
        return indices(desired, uids, fullNames);
      }),
    };
  },

  tryReconcileMirrorPods: (input: Facts & { deleteSucceeds: boolean }) => {
    const { pod, mirrorPod, node, deleteSucceeds } = input;
    const plan = planMirrorPod({ pod, mirrorPod: mirrorPod ?? undefined, node: node ?? undefined });
    const stale = plan.delete;
    const isCreated = plan.create && (stale === undefined || deleteSucceeds);
    return {
      calls: [
        ...(stale ? [{ op: 'delete', podFullName: podFullName(stale), uid: stale.metadata.uid }] : []),
        ...(isCreated ? [{ op: 'create', pod: pod.metadata.name }] : []),
      ],
    };
  },
};

interface ManagerInput {
  readonly steps: readonly (
    | { readonly op: 'add' | 'update' | 'remove'; readonly pod: Pod }
    | { readonly op: 'set'; readonly pods: readonly Pod[] }
  )[];
  readonly uids: readonly string[];
  readonly fullNames: readonly string[];
}

function indices(desired: DesiredPods, uids: readonly string[], fullNames: readonly string[]) {
  const uidOf = (pod: Pod | undefined) => pod?.metadata.uid ?? null;
  const uidsOf = (pods: Iterable<Pod>) => Array.from(pods, ({ metadata: { uid } }) => uid).sort();
  const { podToMirror, mirrorToPod } = desired.uidTranslations();
  const statics = [...desired.pods()].filter((pod) => isStaticPod(pod));
  return {
    byUID: Object.fromEntries(
      uids.map((uid) => [
        uid,
        { pod: desired.get(uid)?.metadata.name ?? null, translated: desired.translateUID(uid) },
      ]),
    ),
    byFullName: Object.fromEntries(fullNames.map((name) => [name, uidOf(desired.getByFullName(name))])),
    pods: uidsOf(desired.pods()),
    mirrorPods: uidsOf(desired.mirrorPods()),
    podToMirror: Object.fromEntries(podToMirror),
    mirrorToPod: Object.fromEntries(mirrorToPod),
    staticToMirror: Object.fromEntries(
      statics.map((pod) => [pod.metadata.uid, uidOf(desired.mirrorPodOf(pod))]),
    ),
    orphanedMirrorPodFullNames: desired.orphanedMirrorPods().map(podFullName).sort(),
  };
}

function orError(failed: object, run: () => object): object {
  try {
    return { error: null, ...run() };
  } catch (error) {
    return { error: errorMessage(error), ...failed };
  }
}

export const adapter: VectorAdapter = {
  adapt({ fn, ...input }: Input) {
    return (FUNCTIONS[fn] as (input: unknown) => unknown)(input);
  },
  matches: (got, want) => firstDifference(pruned(got), pruned(want)) === undefined,
};

/** Without empty objects, which Go writes where there is nothing. */
function pruned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(pruned);
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, pruned(inner)] as const)
    .filter(([, inner]) => !isEmpty(inner));
  return Object.fromEntries(entries);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
