/** The objects of the cluster to which a pod's spec refers: those that the node authorizer lets its node read. */
import { isMirrorPod } from '../../agent/policies/pod/pod-kinds.ts';
import { podContainers } from '../../agent/policies/volumes/volume-source.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import type { ApiStore, StoredChange } from './api-store.ts';

export type ContentResource = 'configmaps' | 'secrets';

export interface ContentReference {
  readonly resource: ContentResource;
  readonly namespace: string;
  readonly name: string;
}

/** `configmaps/default/settings`. */
export const referenceKey = ({ resource, namespace, name }: ContentReference): string =>
  `${resource}/${namespace}/${name}`;

/** Without those of mirror pods, which give a node no rights. An object may be named several times. */
export function referencesOf(pod: Pod): readonly ContentReference[] {
  if (isMirrorPod(pod)) return [];
  const { namespace } = pod.metadata;
  const { imagePullSecrets = [] } = pod.spec;
  const names = [
    ...volumeNames(pod.spec),
    ...variableNames(pod.spec),
    ...imagePullSecrets.map(({ name }) => ['secrets', name] as const),
  ];
  return names.flatMap(([resource, name = '']) => (name === '' ? [] : [{ resource, namespace, name }]));
}

type Named = readonly (readonly [resource: ContentResource, name: string | undefined])[];

function volumeNames({ volumes = [] }: PodSpec): Named {
  const ofVolumes = volumes.flatMap(({ configMap, secret }) => named(configMap, secret?.secretName));
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  return [...ofVolumes, ...sources.flatMap(({ configMap, secret }) => named(configMap, secret?.name))];
}

function variableNames(spec: PodSpec): Named {
  const containers = podContainers(spec);
  const whole = containers.flatMap(({ envFrom = [] }) => envFrom);
  const single = containers.flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom ?? []));
  return [
    ...whole.flatMap(({ configMapRef, secretRef }) => named(configMapRef, secretRef?.name)),
    ...single.flatMap(({ configMapKeyRef, secretKeyRef }) => named(configMapKeyRef, secretKeyRef?.name)),
  ];
}

function named(configMap: { readonly name?: string } | undefined, secretName: string | undefined): Named {
  return [
    ['configmaps', configMap?.name],
    ['secrets', secretName],
  ];
}

export interface AuthorizerGraphOptions {
  readonly store: ApiStore;
  readonly nodeName: string;
  readonly now: () => number;
  /** How much later the authorizer learns of a change of that pod. */
  readonly delayMs: (podName: string) => number;
}

interface Known {
  readonly uid: string;
  readonly since: number;
  /** Keys of the objects that the pod refers to. */
  readonly references: ReadonlySet<string>;
  /** Unix ms. */
  until: number;
}

/**
 * Which pods the node authorizer knows to be bound to a node, and to which objects they refer. It learns of a binding and of a removal a
 * moment later than watches do.
 */
export class AuthorizerGraph {
  readonly #options: AuthorizerGraphOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: AuthorizerGraphOptions) {
    this.#options = options;
    options.store.changes.subscribe((change) => {
      if (change.resource === 'pods') this.#learn(change);
    });
  }

  isKnownHere(namespace: string, name: string): boolean {
    const known = this.#known.get(`${namespace}/${name}`);
    return known !== undefined && this.#holds(known);
  }

  /** Whether a pod that is known here refers to the object. */
  isReferredTo(object: ContentReference): boolean {
    const key = referenceKey(object);
    return [...this.#known.values()].some((known) => known.references.has(key) && this.#holds(known));
  }

  #holds({ since, until }: Known): boolean {
    const now = this.#options.now();
    return since <= now && now < until;
  }

  #learn({ before, after }: StoredChange): void {
    const { now, delayMs } = this.#options;
    const { namespace = '', name = '', uid = '' } = (after ?? before)?.metadata ?? {};
    const key = `${namespace}/${name}`;
    const known = this.#known.get(key);
    const isHere = this.#isHere(after);
    if (known !== undefined && known.until > now() && isHere && known.uid === uid) known.until = Infinity;
    else if (isHere) {
      const references = new Set(referencesOf(after as unknown as Pod).map(referenceKey));
      this.#known.set(key, { uid, since: now() + delayMs(name), references, until: Infinity });
    } else if (known !== undefined) known.until = now() + delayMs(name);
  }

  #isHere(object: StoredChange['after']): boolean {
    return (object as Pod | undefined)?.spec.nodeName === this.#options.nodeName;
  }
}
