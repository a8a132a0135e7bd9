/**
 * A pod of a manifest that must not start again although its manifest is still there: a person has deleted it on its node, or it is an
 * ordinary pod and has ended. That is remembered.
 */
import { canonicalJson } from '../formats/canonical-json.ts';
import type { KillPodOptions } from './pod-termination.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import { MANIFEST_HASH_ANNOTATION } from '../pod/pod-kinds.ts';

export interface EndedPod {
  readonly uid: string;
  /** Of a deletion. Without it, that of the pod's spec counts. */
  readonly gracePeriodSeconds?: number;
  /** The content of the manifest; missing where the UID changes with the manifest. */
  readonly content?: string;
  /** How an ordinary pod has ended. Without it, the pod was deleted, and may not have ended yet. */
  readonly status?: PodStatus;
}

const DELETED_REASON = 'Deleted';

/** Whether a person has deleted it, and it has not ended by itself. */
export function wasDeleted({ status }: EndedPod): boolean {
  return status === undefined || status.reason === DELETED_REASON;
}

const MESSAGE = 'The pod was deleted on its node. It starts again when its manifest changes.';

/** Whether no container of the pod ran any more when this was its status. */
export function showsNoRunningContainer({
  containerStatuses = [],
  initContainerStatuses = [],
  ephemeralContainerStatuses = [],
}: PodStatus): boolean {
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.every(({ state }) => state?.running == null);
}

/** UIDs that are made from the manifest; a manifest with a UID of its own has another form as a rule. */
const CONTENT_UID = /^[0-9a-f]{32}$/u;

/** The phase is that of the containers. */
export function deletionKill({ gracePeriodSeconds }: EndedPod): KillPodOptions {
  return {
    podTerminationGracePeriodSecondsOverride: gracePeriodSeconds,
    podStatus: { reason: DELETED_REASON, message: MESSAGE },
  };
}

/**
 * The content by which a changed manifest is recognised if its UID stays the same. Undefined if the UID changes with the manifest: there
 * the content of an agent with newer defaults would differ although the manifest is the same.
 */
export function manifestContent({ metadata, spec }: Pod): string | undefined {
  if (CONTENT_UID.test(metadata.uid)) return undefined;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => !isSetByAgent(name));
  return canonicalJson([metadata.labels, Object.fromEntries(annotations), spec]);
}

function isSetByAgent(annotation: string): boolean {
  return annotation.startsWith('kubernetes.io/config.') || annotation === MANIFEST_HASH_ANNOTATION;
}
