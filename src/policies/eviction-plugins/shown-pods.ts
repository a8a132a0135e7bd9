/** Which pods plugins are shown, and how. */
import type { EvictionPluginSettings } from '../../types/eviction/eviction-plugin-settings.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { CONFIG_SOURCE_ANNOTATION, isLocalPod } from '../pod/pod-kinds.ts';

interface Shown {
  readonly status: PodStatus | undefined;
  readonly pod: Pod;
}

/** By the pod as its source has it. The same object is shown until the status changes: what is made from it can be kept with it. */
const shown = new WeakMap<Pod, Shown>();

/**
 * The pod with its present status. To other programs a pod of any source but `api` is a static one, so an ordinary pod of a manifest
 * (`--pods`) is shown as one of the API server.
 */
export function shownToPlugins(pod: Pod, status: PodStatus | undefined): Pod {
  const known = shown.get(pod);
  if (known?.status === status && known !== undefined) return known.pod;
  const own = isLocalPod(pod) ? withSource(pod, 'api') : pod;
  const made = status === undefined ? own : { ...own, status };
  shown.set(pod, { status, pod: made });
  return made;
}

function withSource(pod: Pod, source: string): Pod {
  const annotations = { ...pod.metadata.annotations, [CONFIG_SOURCE_ANNOTATION]: source };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

/** Whether the pod is kept from plugins: its annotations or labels say so, by a name with any value. */
export function isSkipped(
  { metadata: { annotations, labels } }: Pod,
  { skippedAnnotations, skippedLabels }: Pick<EvictionPluginSettings, 'skippedAnnotations' | 'skippedLabels'>,
): boolean {
  return (
    skippedAnnotations.some((name) => annotations?.[name] !== undefined) ||
    skippedLabels.some((name) => labels?.[name] !== undefined)
  );
}
