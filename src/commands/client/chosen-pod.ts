/** The pod and the container that a command line names. */
import { invalid, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import { clusterTypeHint } from './named-objects.ts';

export interface NamespaceFlags {
  readonly namespace?: string;
}

export interface PodName {
  /** Undefined where none is named. */
  readonly namespace: string | undefined;
  readonly name: string;
}

const DEFAULT_NAMESPACE = 'default';
/** As kubectl accepts the type of an object before its name. */
const POD_TYPE = /^(?:pods?|po)\//u;
const DEFAULT_CONTAINER_ANNOTATION = 'kubectl.kubernetes.io/default-container';

/** `web`, `pod/web` or `kube-system/web`. Throws where two namespaces are named. */
export function parsePodName(text: string, { namespace }: NamespaceFlags = {}): PodName {
  const parts = text.replace(POD_TYPE, '').split('/');
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.includes(''))
    throw invalid(`"${text}" names no pod: POD, pod/POD or NAMESPACE/POD is expected`);
  if (second === undefined) return { namespace, name: first };
  if (namespace !== undefined && namespace !== first)
    throw invalid(`"${text}" is not in the namespace of --namespace, ${namespace}`);
  return { namespace: first, name: second };
}

export async function podsOf(daemon: DaemonConnection, signal?: AbortSignal): Promise<readonly Pod[]> {
  const { items } = await daemon.json<{ readonly items: readonly Pod[] }>('/pods', signal && { signal });
  return items;
}

/** A static pod is also found without the name of its node. Rejects with `NotFound`, and says which pods may be meant. */
export async function chosenPod(daemon: DaemonConnection, text: string, flags: NamespaceFlags): Promise<Pod> {
  const wanted = parsePodName(text, flags);
  const pods = await podsOf(daemon);
  const found = findPod(pods, wanted);
  if (found === undefined) throw notFound(pods, wanted);
  return found;
}

export function findPod(
  pods: readonly Pod[],
  { namespace = DEFAULT_NAMESPACE, name }: PodName,
): Pod | undefined {
  const here = pods.filter(({ metadata }) => metadata.namespace === namespace);
  // A pod that waits for one of its name to end comes after it.
  return here.find(({ metadata }) => metadata.name === name) ?? here.find((pod) => isCalled(pod, name));
}

/** The name of a static pod is that of its manifest, `-`, and the name of its node. */
function isCalled({ metadata, spec }: Pod, name: string): boolean {
  return metadata.name === `${name}-${spec.nodeName?.toLowerCase() ?? ''}`;
}

export function notFound(
  pods: readonly Pod[],
  { namespace = DEFAULT_NAMESPACE, name }: PodName,
): StateletError {
  const elsewhere = pods.find((pod) => pod.metadata.name === name || isCalled(pod, name));
  const hint = clusterTypeHint(namespace) ?? clusterTypeHint(name);
  if (hint !== undefined)
    return new StateletError('NotFound', `there is no pod ${namespace}/${name}; ${hint}`);
  const mend = elsewhere
    ? `there is one in namespace ${elsewhere.metadata.namespace}: give --namespace ${elsewhere.metadata.namespace}`
    : '"statelet pods" lists the pods';
  return new StateletError('NotFound', `there is no pod "${name}" in namespace ${namespace}; ${mend}`);
}

/** `tell` gets kubectl's message about which of several containers was taken. */
export function chosenContainer(pod: Pod, name: string | undefined, tell: (line: string) => void): string {
  const names = containerNames(pod);
  if (name !== undefined) {
    if (names.some((own) => own.name === name)) return name;
    const text = names.map((own) => own.name).join(', ');
    throw new StateletError(
      'NotFound',
      `pod ${pod.metadata.name} has no container "${name}"; it has: ${text}`,
    );
  }
  const marked = pod.metadata.annotations?.[DEFAULT_CONTAINER_ANNOTATION];
  const isMarked = marked !== undefined && names.some((own) => own.name === marked);
  const [first] = pod.spec.containers;
  if (first === undefined)
    throw new StateletError('FailedPrecondition', `pod ${pod.metadata.name} has no containers`);
  if (isMarked) return marked;
  if (names.length > 1)
    tell(`Defaulted container "${first.name}" out of: ${names.map((own) => own.name + own.mark).join(', ')}`);
  return first.name;
}

/** With what kubectl writes behind names of containers that are not regular ones. */
function containerNames({ spec }: Pod): readonly { readonly name: string; readonly mark: string }[] {
  const marked =
    (mark: string) =>
    ({ name }: { readonly name: string }) => ({ name, mark });
  return [
    ...spec.containers.map(marked('')),
    ...(spec.ephemeralContainers ?? []).map(marked(' (ephem)')),
    ...(spec.initContainers ?? []).map(marked(' (init)')),
  ];
}
