/** The changes that are allowed, by kind of object, and their consequences. */
import { equalJson, without } from '../../../src/agent/policies/formats/canonical-json.ts';
import { computePodQOS } from '../../../src/agent/policies/pod/qos.ts';
import { podWithStatus, withGeneration } from '../../../src/simulation/api/served-pod-rules.ts';
import type { Pod, PodStatus } from '../../../src/types/kubernetes.ts';
import { tolerateLostNodes } from './admission.ts';
import type { AnyObject, Draft } from './context.ts';
import { encodeTexts } from './object-defaults.ts';
import { checkEphemeralContainers, checkPodUpdate } from './pod-updates.ts';
import type { ServedType } from './served-types.ts';
import { type Cause, invalid } from './status-error.ts';

export interface Change {
  readonly type: ServedType;
  readonly subresource: string;
  readonly before: AnyObject;
  /** Metadata that no client changes is that of the object before. */
  readonly sent: AnyObject;
}

/** The object as it is stored. Throws the server's answer to a change that it refuses. */
export function changedObject(change: Change): AnyObject {
  const { type, subresource, before, sent } = change;
  if (subresource === 'status' || subresource === 'approval') return withStatus(change);
  if (type.plural === 'pods') return changedPod(change);
  const named = { type, name: before.metadata.name };
  const after: Draft = { ...sent };
  if (type.plural === 'secrets') encodeTexts(after);
  if (type.plural === 'configmaps' || type.plural === 'secrets') {
    const causes = immutableCauses(before, after);
    if (causes.length > 0) throw invalid(named, causes);
  }
  if (type.plural === 'runtimeclasses' && before.handler !== after.handler)
    throw invalid(named, [
      { field: 'handler', message: `Invalid value: "${String(after.handler)}": field is immutable` },
    ]);
  if (type.plural === 'serviceaccounts' || before.spec === undefined) return after as AnyObject;
  if (type.subresources.includes('status')) keepMember(after, before, 'status');
  if (subresource === 'finalize') return { ...before, spec: sent.spec };
  return counted(before, after as AnyObject);
}

function keepMember(after: Draft, before: AnyObject, member: string): void {
  if (before[member] === undefined) Reflect.deleteProperty(after, member);
  else after[member] = before[member];
}

/** Kinds whose generation counts the changes of the spec. */
function counted(before: AnyObject, after: AnyObject): AnyObject {
  const { generation } = before.metadata as { generation?: number };
  if (generation === undefined) return after;
  const isOther = !equalJson(before.spec ?? {}, after.spec ?? {});
  return { ...after, metadata: { ...after.metadata, generation: generation + (isOther ? 1 : 0) } };
}

/** Takes only the status, the labels and the annotations of the sent object. */
function withStatus({ type, before, sent }: Change): AnyObject {
  const { labels, annotations } = sent.metadata;
  const rest = without(before.metadata, ['labels', 'annotations']);
  const metadata = { ...rest, ...(labels && { labels }), ...(annotations && { annotations }) };
  if (type.plural !== 'pods') return { ...before, metadata, status: sent.status };
  const changed = podWithStatus(before as unknown as Pod, (sent.status ?? {}) as PodStatus);
  if ('why' in changed)
    throw invalid({ type, name: before.metadata.name }, [
      {
        field: changed.field,
        message: `Invalid value: ${changed.value === undefined ? '' : `${JSON.stringify(changed.value)}: `}${changed.why}`,
      },
    ]);
  return { ...(changed as unknown as AnyObject), metadata };
}

function immutableCauses(before: AnyObject, after: Draft): Cause[] {
  if (before.immutable !== true) return [];
  const message = 'Forbidden: field is immutable when `immutable` is set';
  return ['immutable', 'data', 'binaryData']
    .filter((name) => !equalJson(before[name] ?? {}, after[name] ?? {}))
    .map((field) => ({ field, message, reason: 'FieldValueForbidden' }));
}

function changedPod({ type, subresource, before, sent }: Change): AnyObject {
  const after: Draft = { ...sent };
  keepMember(after, before, 'status');
  const pods = [before, after] as unknown as [Pod, Pod];
  if (subresource === 'ephemeralcontainers') {
    after.spec = { ...before.spec, ephemeralContainers: sent.spec?.ephemeralContainers };
    checkEphemeralContainers(type, before, after);
  } else if (subresource === 'resize') {
    after.spec = resized(before.spec as Draft, sent.spec as Draft);
    checkResize(type, before, after);
  } else {
    tolerateLostNodes(after);
    checkPodUpdate(type, before, after);
  }
  return withGeneration(...pods) as unknown as AnyObject;
}

function checkResize(type: ServedType, before: AnyObject, after: Draft): void {
  const { qosClass } = before.status as { qosClass: string };
  const causes: Cause[] = [];
  if (computePodQOS(after as unknown as Pod) !== qosClass) {
    const message = `Invalid value: "${qosClass}": Pod QOS Class may not change as a result of resizing`;
    causes.push({ field: 'spec', message });
  }
  // A node that supports resizing reports the resources of running containers.
  const running = ((before.status?.containerStatuses ?? []) as Draft[]).find(({ state }) => state?.running);
  if (running !== undefined && running.resources === undefined) {
    const message = 'Forbidden: Pod running on node without support for resize';
    causes.push({ field: 'spec', message, reason: 'FieldValueForbidden' });
  }
  if (causes.length > 0) throw invalid({ type, name: before.metadata.name }, causes);
}

/** Takes only the resources of containers and of the pod itself from the sent object. */
function resized(before: Draft, sent: Draft): Draft {
  const resourcesOf = (container: Draft, list: string) =>
    ((sent[list] ?? []) as Draft[]).find(({ name }) => name === container.name)?.resources ??
    container.resources;
  const lists = ['containers', 'initContainers'].filter((list) => before[list] !== undefined);
  return {
    ...before,
    ...(before.resources !== undefined && { resources: sent.resources ?? before.resources }),
    ...Object.fromEntries(
      lists.map((list) => [
        list,
        (before[list] as Draft[]).map((container) => ({
          ...container,
          resources: resourcesOf(container, list),
        })),
      ]),
    ),
  };
}
