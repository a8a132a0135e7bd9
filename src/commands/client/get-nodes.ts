/** The node, as `statelet get nodes` shows it: in the columns of kubectl. */
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { StateletError } from '../../types/errors.ts';
import type { Node } from '../../types/kubernetes.ts';
import { ageText } from '../pod-row.ts';
import { formatTable } from '../table.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import {
  documentOf,
  type GetFlags,
  type GetOutput,
  isDocument,
  labelCells,
  labelHeads,
} from './get-output.ts';
import { labelSelector } from './label-selector.ts';

/** Rejects with `NotFound` for another name than that of the node. */
export async function getNodes(
  daemon: DaemonConnection,
  names: readonly string[],
  flags: GetFlags,
  { write, tell }: GetOutput,
  nowMs: number,
): Promise<void> {
  if (flags.watch === true || flags.watchOnly === true)
    throw new StateletError('InvalidArgument', '--watch: only pods can be watched, not nodes');
  if (flags.fieldSelector !== undefined)
    throw new StateletError('InvalidArgument', '--field-selector: only pods have such fields, not nodes');
  const found = await foundNodes(daemon, names, flags);
  const [node] = found;
  const { output, headers } = flags;
  if (isDocument(output)) {
    write(await documentOf(found, output, { isSingle: names.length === 1, hasHeaders: headers !== false }));
  } else if (node === undefined) {
    if (names.length === 0) tell('No resources found');
  } else if (output === 'name') write(`node/${node.metadata.name}\n`);
  else write(table(node, flags, nowMs));
}

/** The node, if it is meant. Rejects with `NotFound` for another name. */
export async function foundNodes(
  daemon: DaemonConnection,
  names: readonly string[],
  { selector, ignoreNotFound }: Pick<GetFlags, 'selector' | 'ignoreNotFound'>,
): Promise<readonly Node[]> {
  const node = await daemon.json<Node>('/node/object');
  const other = names.find((name) => name !== node.metadata.name);
  if (other !== undefined && ignoreNotFound !== true) throw noSuchNode(other, node);
  const isWanted = names.length === 0 || names.includes(node.metadata.name);
  return isWanted && labelSelector(selector)(node.metadata.labels) ? [node] : [];
}

function noSuchNode(name: string, { metadata }: Node): StateletError {
  return new StateletError('NotFound', `there is no node "${name}" here, but ${metadata.name}`);
}

function table(node: Node, flags: GetFlags, nowMs: number): string {
  const { output, headers } = flags;
  const { metadata, status } = node;
  const { nodeInfo } = status ?? {};
  const {
    kubeletVersion = '',
    osImage,
    kernelVersion,
    containerRuntimeVersion,
    architecture = '',
  } = nodeInfo ?? {};
  const cells: Readonly<Record<string, string>> = {
    NAME: metadata.name,
    STATUS: readyText(node),
    ROLES: rolesOf(node),
    AGE: ageText(metadata.creationTimestamp, nowMs),
    VERSION: kubeletVersion,
    ...(output === 'wide' && {
      'INTERNAL-IP': addressOf(node, 'InternalIP'),
      'EXTERNAL-IP': addressOf(node, 'ExternalIP'),
      'OS-IMAGE': orUnknown(osImage),
      'KERNEL-VERSION': orUnknown(kernelVersion) + (architecture === '' ? '' : ` (${architecture})`),
      'CONTAINER-RUNTIME': orUnknown(containerRuntimeVersion),
    }),
  };
  const row = [...Object.values(cells), ...labelCells(metadata.labels, flags)].map(oneLine);
  return formatTable(headers === false ? [row] : [[...Object.keys(cells), ...labelHeads(flags)], row]);
}

function readyText({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const text = ready === 'True' ? 'Ready' : ready === undefined ? 'Unknown' : 'NotReady';
  return spec?.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

const ROLE = 'node-role.kubernetes.io/';

export function rolesOf({ metadata }: Node): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(ROLE) && key !== ROLE) return key.slice(ROLE.length);
    return key === 'kubernetes.io/role' && value !== '' ? value : [];
  });
  return roles.length === 0 ? '<none>' : [...new Set(roles)].sort().join();
}

function addressOf({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>';
}

function orUnknown(text = ''): string {
  return text === '' ? '<unknown>' : text;
}
