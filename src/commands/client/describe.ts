/** `statelet describe`: pods, what they refer to, and the node, as `kubectl describe` shows them, and what pods and node do now. */
import { humanDuration } from '../../agent/policies/formats/duration.ts';
import { podQOS } from '../../agent/policies/pod/qos.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import type { CoreEvent, Pod } from '../../types/kubernetes.ts';
import { byNamespaceAndName } from '../pod-row.ts';
import { chosenPod, type NamespaceFlags, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { describedContainers } from './described-containers.ts';
import {
  amountLines,
  annotationLines,
  given,
  listLines,
  longTime,
  pairLines,
  seccompLines,
  whyLines,
  withEvents,
} from './described-parts.ts';
import { describedVolumes } from './described-volumes.ts';
import { isWithin, noResources } from './get-output.ts';
import { labelSelector } from './label-selector.ts';
import { type NamedObjects, namedObjects } from './named-objects.ts';

export interface DescribeFlags extends FolderFlags, NamespaceFlags {
  readonly selector?: string;
  readonly allNamespaces?: boolean;
  readonly showEvents?: boolean;
}

/** Returns what to print. A message about an empty list is separate. Rejects with `NotFound` for one that is not there. */
export async function describe(
  words: readonly string[],
  flags: DescribeFlags,
  tell: (line: string) => void,
  nowMs = Date.now(),
): Promise<string> {
  const objects = namedObjects(words);
  return withDaemon(flags, async (daemon) => {
    const texts = await textsOf(daemon, objects, flags, nowMs);
    if (texts.length === 0) tell(noResources(flags));
    return texts.join('\n\n');
  });
}

async function textsOf(
  daemon: DaemonConnection,
  objects: NamedObjects,
  flags: DescribeFlags,
  nowMs: number,
): Promise<readonly string[]> {
  const { type, names } = objects;
  if (type === 'pods') return podTexts(daemon, names, flags, nowMs);
  const { showEvents = true } = flags;
  if (type === 'nodes') {
    const [{ foundNodes }, { describedNode }] = await Promise.all([
      import('./get-nodes.ts'),
      import('./describe-node.ts'),
    ]);
    const [nodes, pods, items, why] = await Promise.all([
      foundNodes(daemon, names, flags),
      podsOf(daemon),
      eventsOf(daemon),
      daemon.json<Why>('/why'),
    ]);
    return nodes.map((node) => {
      const own = items.filter(
        ({ involvedObject: { kind, name } }) => kind === 'Node' && name === node.metadata.name,
      );
      return describedNode({
        node,
        pods: pods.toSorted(byNamespaceAndName),
        why,
        events: showEvents ? own : undefined,
        nowMs,
      });
    });
  }
  const [{ foundObjects }, { describedObject }] = await Promise.all([
    import('./get-objects.ts'),
    import('./described-objects.ts'),
  ]);
  const [found, pods] = await Promise.all([foundObjects(daemon, objects, flags), podsOf(daemon)]);
  return found.map((object) => describedObject(object, pods, showEvents));
}

async function podTexts(
  daemon: DaemonConnection,
  names: readonly string[],
  flags: DescribeFlags,
  nowMs: number,
): Promise<readonly string[]> {
  const isSelected = labelSelector(flags.selector);
  const pods =
    names.length > 0
      ? await Promise.all(names.map((name) => chosenPod(daemon, name, flags)))
      : (await podsOf(daemon)).filter((pod) => isWithin(pod, flags)).sort(byNamespaceAndName);
  const wanted = pods.filter(({ metadata }) => isSelected(metadata.labels));
  const items = wanted.length === 0 ? [] : await eventsOf(daemon);
  const { showEvents = true } = flags;
  return Promise.all(
    wanted.map(async (pod) => {
      const own = items.filter(({ involvedObject }) => involvedObject.uid === pod.metadata.uid);
      const body = podLines(pod, nowMs);
      return withEvents(
        [...body, ...whyLines(await whyOf(daemon, pod))],
        showEvents ? own : undefined,
        nowMs,
      );
    }),
  );
}

async function eventsOf(daemon: DaemonConnection): Promise<readonly CoreEvent[]> {
  return (await daemon.json<{ readonly items: readonly CoreEvent[] }>('/events')).items;
}

/** A pod may go meanwhile. */
async function whyOf(
  daemon: DaemonConnection,
  { metadata: { namespace, name } }: Pod,
): Promise<Why | undefined> {
  const path = `/why/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return daemon.json<Why>(path).catch(() => undefined);
}

function podLines(pod: Pod, nowMs: number): readonly string[] {
  const { spec, status } = pod;
  const { initContainers = [], ephemeralContainers = [] } = spec;
  return [
    ...headLines(pod, nowMs),
    ...(initContainers.length === 0
      ? []
      : describedContainers('Init Containers', pod, initContainers, status?.initContainerStatuses)),
    ...describedContainers('Containers', pod, spec.containers, status?.containerStatuses),
    ...(ephemeralContainers.length === 0
      ? []
      : describedContainers(
          'Ephemeral Containers',
          pod,
          ephemeralContainers,
          status?.ephemeralContainerStatuses,
        )),
    ...gateLines(pod),
    ...conditionLines(pod),
    ...describedVolumes(spec.volumes ?? []),
    `QoS Class:\t${podQOS(pod)}`,
    ...pairLines('Node-Selectors', spec.nodeSelector),
    ...tolerationLines(pod),
  ];
}

function headLines(pod: Pod, nowMs: number): readonly string[] {
  const { metadata, spec, status = {} } = pod;
  const { podIPs = [] } = status;
  const controller = metadata.ownerReferences?.find((owner) => owner.controller === true);
  return [
    `Name:\t${metadata.name}`,
    `Namespace:\t${metadata.namespace}`,
    ...(spec.priority === undefined ? [] : [`Priority:\t${spec.priority}`]),
    ...given('Priority Class Name', spec.priorityClassName),
    ...given('Runtime Class Name', spec.runtimeClassName),
    ...given('Service Account', spec.serviceAccountName),
    `Node:\t${spec.nodeName === undefined ? '<none>' : `${spec.nodeName}/${status.hostIP ?? ''}`}`,
    ...(status.startTime === undefined ? [] : [`Start Time:\t${longTime(status.startTime)}`]),
    ...pairLines('Labels', metadata.labels),
    ...annotationLines(metadata.annotations),
    ...statusLines(pod, nowMs),
    ...given('Reason', status.reason),
    ...given('Message', status.message),
    ...seccompLines(spec.securityContext, ''),
    `IP:\t${status.podIP ?? ''}`,
    ...(podIPs.length === 0 ? ['IPs:\t<none>'] : ['IPs:', ...podIPs.map(({ ip }) => `  IP:\t${ip}`)]),
    ...given('Controlled By', controller && `${controller.kind}/${controller.name}`),
    ...given('NominatedNodeName', status.nominatedNodeName),
    ...(spec.resources === undefined
      ? []
      : [
          'Resources:',
          ...amountLines('Limits:', spec.resources.limits, '  '),
          ...amountLines('Requests:', spec.resources.requests, '  '),
        ]),
  ];
}

function statusLines({ metadata, status }: Pod, nowMs: number): readonly string[] {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  const { phase = '' } = status ?? {};
  if (deletionTimestamp === undefined || phase === 'Failed' || phase === 'Succeeded')
    return [`Status:\t${phase}`];
  return [
    `Status:\tTerminating (lasts ${humanDuration(nowMs - Date.parse(deletionTimestamp))})`,
    `Termination Grace Period:\t${deletionGracePeriodSeconds}s`,
  ];
}

function gateLines({ spec: { readinessGates = [] }, status }: Pod): readonly string[] {
  if (readinessGates.length === 0) return [];
  const statusOf = (type: string) => status?.conditions?.find((one) => one.type === type)?.status ?? '<none>';
  const rows = readinessGates.map(({ conditionType: type }) => `  ${type} \t${statusOf(type)} `);
  return ['Readiness Gates:', '  Type\tStatus', ...rows];
}

function conditionLines({ status }: Pod): readonly string[] {
  const { conditions = [] } = status ?? {};
  if (conditions.length === 0) return [];
  return [
    'Conditions:',
    '  Type\tStatus',
    ...conditions.map(({ type, status: own }) => `  ${type} \t${own} `),
  ];
}

function tolerationLines({ spec: { tolerations = [] } }: Pod): readonly string[] {
  const texts = tolerations.map(({ key = '', operator = 'Equal', value = '', effect, tolerationSeconds }) => {
    const what = [`${key}${value === '' ? '' : `=${value}`}`, ...(effect === undefined ? [] : [effect])];
    const how = operator === 'Exists' ? ' op=Exists' : '';
    return `${what.join(':')}${how}${tolerationSeconds === undefined ? '' : ` for ${tolerationSeconds}s`}`;
  });
  return listLines('Tolerations', texts.sort());
}
