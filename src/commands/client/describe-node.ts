/** The node as `kubectl describe` shows it: what it has, and what its pods have asked for. */
import {
  quantityOrZero,
  quantityString,
  type Quantity,
  ZERO_QUANTITY,
} from '../../agent/policies/formats/quantity.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { compareTexts } from '../../agent/policies/formats/text-order.ts';
import {
  addQuantities,
  podLimits,
  podRequests,
  type ResourceQuantities,
} from '../../agent/policies/pod/resources.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import type { CoreEvent, Node, Pod, Taint } from '../../types/kubernetes.ts';
import {
  amountLines,
  annotationLines,
  given,
  listLines,
  longTime,
  pairLines,
  whyLines,
  withEvents,
} from './described-parts.ts';
import { podAge } from '../pod-row.ts';
import { rolesOf } from './get-nodes.ts';

export interface NodeDescription {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly why: Why | undefined;
  /** undefined: they are not wanted. */
  readonly events: readonly CoreEvent[] | undefined;
  readonly nowMs: number;
}

export function describedNode({ node, pods, why, events, nowMs }: NodeDescription): string {
  const { metadata, spec = {}, status = {} } = node;
  const body = [
    `Name:\t${metadata.name}`,
    `Roles:\t${rolesOf(node)}`,
    ...pairLines('Labels', metadata.labels),
    ...annotationLines(metadata.annotations),
    `CreationTimestamp:\t${longTime(metadata.creationTimestamp)}`,
    ...taintLines(spec.taints),
    `Unschedulable:\t${spec.unschedulable ?? false}`,
    ...conditionLines(node),
    'Addresses:',
    ...(status.addresses ?? []).map(({ type, address }) => `  ${type}:\t${oneLine(address)}`),
    ...amountLines('Capacity:', status.capacity),
    ...amountLines('Allocatable:', status.allocatable),
    ...systemLines(node),
    ...given('PodCIDR', spec.podCIDR),
    ...given('PodCIDRs', spec.podCIDRs?.join()),
    ...given('ProviderID', spec.providerID),
    ...podLines(node, pods.filter(isNotOver), nowMs),
    ...whyLines(why),
  ];
  return withEvents(body, events, nowMs);
}

function taintLines(taints: readonly Taint[] = []): readonly string[] {
  const sorted = taints.toSorted((a, b) => compareTexts(`${a.effect},${a.key}`, `${b.effect},${b.key}`));
  const texts = sorted.map(
    ({ key, value = '', effect }) => `${key}${value === '' ? '' : `=${value}`}:${effect}`,
  );
  return listLines('Taints', texts.map(oneLine));
}

function conditionLines({ status }: Node): readonly string[] {
  const { conditions = [] } = status ?? {};
  if (conditions.length === 0) return [];
  const rows = conditions.map(
    ({ type, status: own, lastHeartbeatTime, lastTransitionTime, reason = '', message = '' }) =>
      [
        `${type} `,
        `${own} `,
        `${longTime(lastHeartbeatTime)} `,
        `${longTime(lastTransitionTime)} `,
        `${oneLine(reason)} `,
      ]
        .concat(oneLine(message))
        .join('\t'),
  );
  return [
    'Conditions:',
    '  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage',
    '  ----\t------\t-----------------\t------------------\t------\t-------',
    ...rows.map((row) => `  ${row}`),
  ];
}

function systemLines({ status }: Node): readonly string[] {
  const info = status?.nodeInfo;
  return [
    'System Info:',
    ...[
      ['Machine ID', info?.machineID],
      ['System UUID', info?.systemUUID],
      ['Boot ID', info?.bootID],
      ['Kernel Version', info?.kernelVersion],
      ['OS Image', info?.osImage],
      ['Operating System', info?.operatingSystem],
      ['Architecture', info?.architecture],
      ['Container Runtime Version', info?.containerRuntimeVersion],
      ['Kubelet Version', info?.kubeletVersion],
    ].map(([label, text = '']) => `  ${label}:\t${oneLine(text)}`),
  ];
}

function isNotOver({ status }: Pod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

interface Amounts {
  readonly requests: ResourceQuantities;
  readonly limits: ResourceQuantities;
}

function podLines({ status }: Node, pods: readonly Pod[], nowMs: number): readonly string[] {
  const room = status?.allocatable ?? status?.capacity ?? {};
  const asked = pods.map((pod) => ({ pod, requests: podRequests(pod), limits: podLimits(pod) }));
  const rows = asked.map(({ pod, ...amounts }) => {
    const { metadata } = pod;
    const cells = ['cpu', 'memory'].flatMap((name) => sharesOf(name, amounts, room));
    return [metadata.namespace, metadata.name, '', ...cells, podAge(pod, nowMs)].join('\t');
  });
  return [
    `Non-terminated Pods:\t(${pods.length} in total)`,
    '  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge',
    '  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---',
    ...rows.map((row) => `  ${row}`),
    'Allocated resources:',
    '  (Total limits may be over 100 percent, i.e., overcommitted.)',
    '  Resource\tRequests\tLimits',
    '  --------\t--------\t------',
    ...totalLines(
      {
        requests: sumOf(asked.map(({ requests }) => requests)),
        limits: sumOf(asked.map(({ limits }) => limits)),
      },
      room,
    ),
  ];
}

function totalLines(amounts: Amounts, room: Readonly<Record<string, string>>): readonly string[] {
  const others = Object.keys(room).sort(compareTexts);
  const hugePages = others.filter((name) => name.startsWith('hugepages-'));
  const extended = others.filter((name) => ![...ALWAYS, ...hugePages, 'pods'].includes(name));
  return [
    ...[...ALWAYS, ...hugePages].map((name) => [name, ...sharesOf(name, amounts, room)]),
    ...extended.map((name) => [name, textOf(amounts.requests.get(name)), textOf(amounts.limits.get(name))]),
  ].map((cells) => `  ${cells.map(oneLine).join('\t')}`);
}

const ALWAYS = ['cpu', 'memory', 'ephemeral-storage'];

/** `100m (2%)`, of the requests and of the limits. */
function sharesOf(
  name: string,
  { requests, limits }: Amounts,
  room: Readonly<Record<string, string>>,
): string[] {
  const whole = Number(quantityOrZero(room[name]).nanos);
  return [requests, limits].map((amounts) => {
    const amount = amounts.get(name) ?? ZERO_QUANTITY;
    const share = whole === 0 ? 0 : Math.floor((Number(amount.nanos) / whole) * 100);
    return `${quantityString(amount)} (${share}%)`;
  });
}

function textOf(amount: Quantity = ZERO_QUANTITY): string {
  return quantityString(amount);
}

function sumOf(all: readonly ResourceQuantities[]): ResourceQuantities {
  const sums = new Map<string, Quantity>();
  for (const amounts of all) addQuantities(sums, amounts);
  return sums;
}
