/** The objects that events are about, as the API server is told of them. */
import type { PodReference } from '../../types/event-recorder.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import { named } from '../pod/named.ts';
import type { EventFacts } from './event-correlation.ts';

type EventObject = EventFacts['object'];

/** `pod`: undefined where it is not known by its object any more. */
export function podEventObject(
  { name, namespace, uid }: PodReference,
  container?: string,
  pod?: Pod,
): EventObject {
  const resourceVersion = pod?.metadata.resourceVersion;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace,
    name,
    uid,
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(container !== undefined && { fieldPath: containerFieldPath(pod?.spec, container) }),
  };
}

/**
 * `kubectl describe node` finds events by the UID of the node or by its name in the place of the UID: the name is there while the
 * UID is not known.
 */
export function nodeEventObject(name: string, uid: string | undefined): EventObject {
  return { apiVersion: 'v1', kind: 'Node', name, uid: uid ?? name };
}

/** `spec.initContainers{NAME}`. A container that the spec does not have counts as a regular one. */
function containerFieldPath(spec: PodSpec | undefined, container: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const isRegular = containers === undefined || named(containers, container) !== undefined;
  if (!isRegular && named(initContainers, container)) return `spec.initContainers{${container}}`;
  if (!isRegular && named(ephemeralContainers, container)) return `spec.ephemeralContainers{${container}}`;
  return `spec.containers{${container}}`;
}
