/** `statelet describe`: a pod as `kubectl describe` shows it, and what it does now. */
import { without } from '../../agent/policies/formats/canonical-json.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { podQOS } from '../../agent/policies/pod/qos.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import { StateletError } from '../../types/errors.ts';
import type { CoreEvent, Pod } from '../../types/kubernetes.ts';
import { chosenPod, type NamespaceFlags, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { describedContainers, given, longTime } from './described-containers.ts';
import { describedVolumes } from './described-volumes.ts';
import { lastSeen } from './events.ts';
import { noResources } from './get-output.ts';
import { labelSelector } from './label-selector.ts';
import { namedObjects } from './named-objects.ts';
import { tabbedText } from './tabbed-text.ts';

export interface DescribeFlags extends FolderFlags, NamespaceFlags {
  readonly selector?: string;
  readonly allNamespaces?: boolean;
  readonly showEvents?: boolean;
}

/** Returns what to print; that there is none is told apart. Rejects with `NotFound` for a pod that is not there. */
export async function describe(
  words: readonly string[],
  flags: DescribeFlags,
  tell: (line: string) => void,
  nowMs = Date.now(),
): Promise<string> {
  const { type, names } = namedObjects(words);
  if (type !== 'pods')
    throw new StateletError('InvalidArgument', `describe shows pods; see statelet get ${type} -o yaml`);
  const isSelected = labelSelector(flags.selector);
  return withDaemon(flags, async (daemon) => {
    const pods =
      names.length > 0
        ? await Promise.all(names.map((name) => chosenPod(daemon, name, flags)))
        : (await podsOf(daemon)).filter((pod) => isWithin(pod, flags));
    const wanted = pods.filter(({ metadata }) => isSelected(metadata.labels));
    if (wanted.length === 0) {
      tell(noResources(flags));
      return '';
    }
    const { items } = await daemon.json<{ readonly items: readonly CoreEvent[] }>('/events');
    const texts = await Promise.all(
      wanted.map(async (pod) => {
        const events = items.filter(({ involvedObject }) => involvedObject.uid === pod.metadata.uid);
        return described(pod, { why: await whyOf(daemon, pod), events, nowMs }, flags);
      }),
    );
    return texts.join('\n\n');
  });
}

function isWithin({ metadata }: Pod, { allNamespaces, namespace = 'default' }: DescribeFlags): boolean {
  return allNamespaces === true || metadata.namespace === namespace;
}

/** A pod may go meanwhile. */
async function whyOf(
  daemon: DaemonConnection,
  { metadata: { namespace, name } }: Pod,
): Promise<Why | undefined> {
  const path = `/why/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return daemon.json<Why>(path).catch(() => undefined);
}

/** kubectl keeps the whole manifest in it. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

interface Facts {
  readonly why: Why | undefined;
  readonly events: readonly CoreEvent[];
  readonly nowMs: number;
}

function described(pod: Pod, { why, events, nowMs }: Facts, { showEvents = true }: DescribeFlags): string {
  const { spec, status } = pod;
  const { initContainers = [], containers, volumes = [] } = spec;
  const body = [
    ...headLines(pod),
    ...(initContainers.length === 0
      ? []
      : describedContainers('Init Containers', initContainers, status?.initContainerStatuses)),
    ...describedContainers('Containers', containers, status?.containerStatuses),
    ...conditionLines(pod),
    ...describedVolumes(volumes),
    `QoS Class:\t${podQOS(pod)}`,
    ...pairLines('Node-Selectors', spec.nodeSelector, '='),
    ...tolerationLines(pod),
    ...(why === undefined ? [] : ['Why:', ...why.sentences.map((text) => `  ${oneLine(text)}`)]),
  ];
  if (!showEvents) return tabbedText(body);
  // As kubectl has it, a table of events has columns of its own.
  if (events.length === 0) return tabbedText([...body, 'Events:\t<none>']);
  return `${tabbedText(body)}${tabbedText(eventLines(events, nowMs))}`;
}

function headLines({ metadata, spec, status = {} }: Pod): readonly string[] {
  const { podIPs = [] } = status;
  return [
    `Name:\t${metadata.name}`,
    `Namespace:\t${metadata.namespace}`,
    ...(spec.priority === undefined ? [] : [`Priority:\t${spec.priority}`]),
    ...given('Priority Class Name', spec.priorityClassName),
    ...given('Runtime Class Name', spec.runtimeClassName),
    ...given('Service Account', spec.serviceAccountName),
    `Node:\t${spec.nodeName === undefined ? '<none>' : `${spec.nodeName}/${status.hostIP ?? ''}`}`,
    ...(status.startTime === undefined ? [] : [`Start Time:\t${longTime(status.startTime)}`]),
    ...pairLines('Labels', metadata.labels, '='),
    ...pairLines('Annotations', without(metadata.annotations ?? {}, [LAST_APPLIED]), ': '),
    `Status:\t${status.phase ?? ''}`,
    ...given('Reason', status.reason),
    ...given('Message', status.message),
    `IP:\t${status.podIP ?? ''}`,
    ...(podIPs.length === 0 ? ['IPs:\t<none>'] : ['IPs:', ...podIPs.map(({ ip }) => `  IP:\t${ip}`)]),
  ];
}

function pairLines(
  label: string,
  pairs: Readonly<Record<string, string>> | undefined,
  sign: string,
): readonly string[] {
  const texts = Object.entries(pairs ?? {}).map(([key, value]) => oneLine(`${key}${sign}${value}`));
  const [first = '<none>', ...others] = texts.sort();
  return [`${label}:\t${first}`, ...others.map((text) => `\t${text}`)];
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
  const [first = '<none>', ...others] = texts.sort();
  return [`Tolerations:\t${first}`, ...others.map((text) => `\t${text}`)];
}

function eventLines(events: readonly CoreEvent[], nowMs: number): readonly string[] {
  const rows = events.map((event) => {
    const { type = '', reason = '', source, message = '', involvedObject } = event;
    const { fieldPath = '' } = involvedObject;
    const text = fieldPath === '' ? message.trim() : `${fieldPath}: ${message.trim()}`;
    return [type, reason, lastSeen(event, nowMs), source?.component ?? '', text].map(oneLine);
  });
  const table = [
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    ['----', '------', '----', '----', '-------'],
    ...rows,
  ];
  return ['Events:', ...table.map((cells) => `  ${cells.join('\t')}`)];
}
