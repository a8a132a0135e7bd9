import {
  CONFIG_SOURCE_ANNOTATION,
  MANIFEST_HASH_ANNOTATION,
} from '../../src/agent/policies/pod/pod-kinds.ts';
import { type ManifestOrigin, problemText } from '../../src/agent/sources/source.ts';
import { manifestPod } from '../../src/agent/sources/pod-of-manifest.ts';
import { parseManifest } from '../../src/agent/sources/manifests/read-manifest.ts';
import {
  duplicateMessage,
  type KnownPods,
  type PodSource,
  podUpdates,
  type PodUpdate,
} from '../../src/agent/policies/pod-actions/wanted-pods.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

type Input =
  | { readonly fn: 'sequence'; readonly sources: readonly string[]; readonly steps: readonly Step[] }
  | {
      readonly fn: 'applyDefaults';
      readonly pod: Pod;
      readonly source: string;
      readonly isFile: boolean;
      readonly nodeName: string;
    }
  | {
      readonly fn: 'decodeFile';
      readonly manifest: string;
      readonly source: string;
      readonly nodeName: string;
    };

interface Step {
  readonly source: PodSource;
  readonly pods: readonly PodWithoutNamespace[];
}

type PodWithoutNamespace = Omit<Pod, 'metadata'> & {
  readonly metadata: Omit<Pod['metadata'], 'namespace'> & { readonly namespace?: string };
};

const NOW = '2030-01-01T00:00:00.000000000Z';

function sequence(sources: readonly string[], steps: readonly Step[]): unknown {
  const known = new Map<PodSource, KnownPods>();
  return {
    steps: steps.map(({ source, pods }) => {
      const isFirst = !known.has(source);
      const next = podUpdates(known.get(source) ?? new Map(), source, pods.map(named), NOW);
      known.set(source, next.known);
      const events = next.duplicates.map(
        (pod) => `Warning FailedValidation ${duplicateMessage(pod, source)}`,
      );
      return {
        updates: withSourceSeen(next.updates, source, isFirst).map(told),
        seenAllSources: sources.every((name) => known.has(name as PodSource)),
        ...(events.length > 0 && { events }),
      };
    }),
  };
}

/** Every source names its pods; here some have no namespace. */
function named(pod: PodWithoutNamespace): Pod {
  return { ...pod, metadata: { ...pod.metadata, namespace: pod.metadata.namespace ?? '' } };
}

/** The kubelet has an empty ADD for our SOURCE_SEEN. */
function withSourceSeen(
  updates: readonly PodUpdate[],
  source: PodSource,
  isFirst: boolean,
): readonly PodUpdate[] {
  if (!isFirst || updates.some(({ op }) => op !== 'REMOVE' && op !== 'RECONCILE')) return updates;
  return [...updates, { op: 'ADD', source, pods: [] }];
}

function told({ op, source, pods }: PodUpdate): unknown {
  const sorted = op === 'REMOVE' ? pods.toSorted((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1)) : pods;
  return {
    op,
    source,
    pods: sorted.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      annotations: metadata.annotations,
      labels: metadata.labels ?? null,
      generation: metadata.generation ?? 0,
      deletionTimestamp: metadata.deletionTimestamp ?? null,
      image: spec.containers[0]?.image,
      statusMessage: status?.message ?? '',
    })),
  };
}

/** The static pod as the kubelet's decoder has it: the kubelet notes the source later, and has no hash beside a UID of the manifest. */
function asDecoded({ metadata, ...pod }: Pod): Pod {
  const annotations = without(metadata.annotations, CONFIG_SOURCE_ANNOTATION, MANIFEST_HASH_ANNOTATION);
  return { ...pod, metadata: { ...metadata, annotations } };
}

function without<T extends object>(object: T | undefined, ...keys: readonly string[]): T {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([key]) => !keys.includes(key))) as T;
}

function applyDefaults({ pod, source, isFile, nodeName }: Input & { readonly fn: 'applyDefaults' }): unknown {
  const origin: ManifestOrigin = { source: isFile ? 'file' : 'http', location: source, nodeName };
  const { metadata, spec, status } = asDecoded(manifestPod(pod, origin));
  return {
    metadata,
    nodeName: spec.nodeName,
    phase: status?.phase,
    tolerations: spec.tolerations ?? null,
  };
}

/** Our errors name the field: of the kubelet's, only the references that are refused are compared. */
function decodeFile({ manifest, source, nodeName }: Input & { readonly fn: 'decodeFile' }): Decoded {
  const origin: ManifestOrigin = { source: 'file', location: source, nodeName };
  const { pods, problems } = parseManifest(Buffer.from(manifest), origin);
  const [pod] = pods.map((each) => asDecoded(manifestPod(each, origin)));
  if (pod) return { error: null, pod: without(pod, 'apiVersion', 'kind') };
  return { error: problems.map(problemText).join('; ') };
}

interface Decoded {
  readonly error: string | null;
  readonly pod?: unknown;
}

const REFERENCE = 'static pods may not reference';

export const adapter: VectorAdapter = {
  adapt(input: Input) {
    switch (input.fn) {
      case 'sequence':
        return sequence(input.sources, input.steps);
      case 'applyDefaults':
        return applyDefaults(input);
      case 'decodeFile':
        return decodeFile(input);
    }
  },

  matches(got, want, { fn }: Input) {
    if (fn !== 'decodeFile') return firstDifference(got, want) === undefined;
    const { error, pod } = got as Decoded;
    const { error: wanted, pod: wantedPod } = want as Decoded;
    if (wanted?.startsWith(REFERENCE)) return error?.includes(wanted) === true;
    if (wanted !== null) return error !== null;
    return error === null && firstDifference(pod, wantedPod) === undefined;
  },

  skip: {
    'static manifest: no image': 'a container that runs as a plain process needs no image',
    'decodeFile TestExtractPodsFromHTTP #2': 'a file may be a list of pods too',
    'static manifest: unknown field': 'an unknown field is mostly a typo, and is refused',
    'static manifest: mirror annotation':
      'the kubelet never runs a static pod that says it is a mirror pod; here it runs',
  },
};
