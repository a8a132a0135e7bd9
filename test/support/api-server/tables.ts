/** Tables, in which `kubectl get` asks for objects. */
import type { StoredObject } from '../../../src/simulation/api/api-store.ts';
import type { AnyObject, Draft } from './context.ts';
import { viewed } from './event-views.ts';
import { isTrue } from './requests.ts';
import { apiVersionOf, storeKey, type ServedType } from './served-types.ts';

interface Column {
  readonly name: string;
  readonly cell: (object: AnyObject, now: number) => unknown;
  /** Shown by `--output=wide` alone. */
  readonly wide?: boolean;
}

const NONE = '<none>';
const column = (name: string, cell: Column['cell'], wide = false): Column => ({ name, cell, wide });
const NAME = column('Name', ({ metadata }) => metadata.name);
const AGE = column('Age', ({ metadata }, now) => age(metadata.creationTimestamp, now));
const countOf = (value: unknown): number => Object.keys(value ?? {}).length;

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  pods: [
    NAME,
    column('Ready', readyContainers),
    column('Status', podState),
    column('Restarts', restarts),
    AGE,
    column('IP', ({ status }) => status?.podIP ?? NONE, true),
    column('Node', ({ spec }) => spec?.nodeName ?? NONE, true),
    column('Nominated Node', ({ status }) => status?.nominatedNodeName ?? NONE, true),
    column('Readiness Gates', () => NONE, true),
  ],
  nodes: [
    NAME,
    column('Status', nodeState),
    column('Roles', nodeRoles),
    AGE,
    column('Version', ({ status }) => status?.nodeInfo?.kubeletVersion ?? ''),
    column('Internal-IP', ({ status }) => addressOf(status, 'InternalIP'), true),
    column('External-IP', ({ status }) => addressOf(status, 'ExternalIP'), true),
    column('OS-Image', ({ status }) => status?.nodeInfo?.osImage ?? '', true),
    column('Kernel-Version', ({ status }) => status?.nodeInfo?.kernelVersion ?? '', true),
    column('Container-Runtime', ({ status }) => status?.nodeInfo?.containerRuntimeVersion ?? '', true),
  ],
  events: [
    column('Last Seen', ({ lastTimestamp, firstTimestamp, eventTime, metadata }, now) =>
      age(lastTimestamp ?? firstTimestamp ?? eventTime ?? metadata.creationTimestamp, now),
    ),
    column('Type', ({ type }) => type),
    column('Reason', ({ reason }) => reason),
    column(
      'Object',
      ({ involvedObject }) => `${String(involvedObject?.kind).toLowerCase()}/${String(involvedObject?.name)}`,
    ),
    column('Message', ({ message }) => String(message ?? '').trim()),
    column('Name', ({ metadata }) => metadata.name, true),
  ],
  namespaces: [NAME, column('Status', ({ status }) => status?.phase), AGE],
  configmaps: [NAME, column('Data', ({ data, binaryData }) => countOf(data) + countOf(binaryData)), AGE],
  secrets: [NAME, column('Type', ({ type }) => type), column('Data', ({ data }) => countOf(data)), AGE],
  serviceaccounts: [NAME, column('Secrets', ({ secrets }) => countOf(secrets)), AGE],
  services: [
    NAME,
    column('Type', ({ spec }) => spec?.type),
    column('Cluster-IP', ({ spec }) => spec?.clusterIP ?? NONE),
    column('External-IP', ({ spec }) => spec?.externalName ?? NONE),
    column(
      'Port(s)',
      ({ spec }) =>
        ((spec?.ports ?? []) as Draft[]).map(({ port, protocol }) => `${port}/${protocol}`).join(',') || NONE,
    ),
    AGE,
  ],
  persistentvolumeclaims: [
    NAME,
    column('Status', ({ status, metadata }) =>
      metadata.deletionTimestamp === undefined ? status?.phase : 'Terminating',
    ),
    column('Volume', ({ spec }) => spec?.volumeName ?? ''),
    column('Capacity', ({ status }) => status?.capacity?.storage ?? ''),
    column('Access Modes', ({ spec }) => ((spec?.accessModes ?? []) as string[]).join(',')),
    column('StorageClass', ({ spec }) => spec?.storageClassName ?? ''),
    AGE,
  ],
  'leases.coordination.k8s.io': [NAME, column('Holder', ({ spec }) => spec?.holderIdentity ?? ''), AGE],
  'runtimeclasses.node.k8s.io': [NAME, column('Handler', ({ handler }) => handler), AGE],
  'certificatesigningrequests.certificates.k8s.io': [
    NAME,
    AGE,
    column('SignerName', ({ spec }) => spec?.signerName),
    column('Requestor', ({ spec }) => spec?.username),
    column('RequestedDuration', () => NONE),
    column('Condition', requestState),
  ],
  'poddisruptionbudgets.policy': [
    NAME,
    column('Min Available', ({ spec }) => String(spec?.minAvailable ?? 'N/A')),
    column('Max Unavailable', ({ spec }) => String(spec?.maxUnavailable ?? 'N/A')),
    column('Allowed Disruptions', ({ status }) => status?.disruptionsAllowed ?? 0),
    AGE,
  ],
  'priorityclasses.scheduling.k8s.io': [NAME, column('Value', ({ value }) => value), AGE],
};

const AS_TABLE = /application\/json;[^,]*as=Table/;

export function wantsTable(accept: string): boolean {
  return AS_TABLE.test(accept);
}

export interface TableOptions {
  readonly type: ServedType;
  readonly query: URLSearchParams;
  readonly now: number;
  readonly metadata: object;
  /** A later table of a watch has no columns. */
  readonly hasColumns?: boolean;
}

export function table(objects: readonly StoredObject[], options: TableOptions): object {
  const { type, query, now, metadata, hasColumns = true } = options;
  const columns = COLUMNS[storeKey(type)] ?? [NAME, AGE];
  const include = query.get('includeObject') ?? 'Metadata';
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: hasColumns
      ? columns.map(({ name, wide }) => ({
          name,
          type: 'string',
          format: name === 'Name' ? 'name' : '',
          description: '',
          priority: isTrue(String(wide ?? false)) ? 1 : 0,
        }))
      : [],
    rows: (objects as AnyObject[]).map((object) => ({
      cells: columns.map(({ cell }) => cell(object, now) ?? ''),
      ...(include !== 'None' && {
        object:
          include === 'Object'
            ? { kind: type.kind, apiVersion: apiVersionOf(type), ...viewed(object, type) }
            : { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
      }),
    })),
  };
}

/** As kubectl shows it: two units at most. */
function age(time: unknown, now: number): string {
  if (typeof time !== 'string') return '<unknown>';
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function readyContainers({ spec, status }: AnyObject): string {
  const statuses = (status?.containerStatuses ?? []) as Draft[];
  return `${statuses.filter(({ ready }) => ready === true).length}/${countOf(spec?.containers)}`;
}

function restarts({ status }: AnyObject): string {
  const statuses = (status?.containerStatuses ?? []) as Draft[];
  return String(statuses.reduce((sum, { restartCount = 0 }) => sum + Number(restartCount), 0));
}

function podState({ metadata, status }: AnyObject): string {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.reason !== undefined) return String(status.reason);
  const states = ((status?.containerStatuses ?? []) as Draft[]).map(({ state }) => (state ?? {}) as Draft);
  const waiting = states.find((state) => state.waiting?.reason !== undefined);
  if (waiting !== undefined) return String(waiting.waiting.reason);
  const isRunning = states.some((state) => state.running !== undefined);
  const ended = states.find((state) => state.terminated?.reason !== undefined);
  return ended === undefined || isRunning
    ? String(status?.phase ?? 'Unknown')
    : String(ended.terminated.reason);
}

function nodeState({ spec, status }: AnyObject): string {
  const ready = ((status?.conditions ?? []) as Draft[]).find(({ type }) => type === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${state},SchedulingDisabled` : state;
}

function nodeRoles({ metadata }: AnyObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  return roles.map((label) => label.slice(prefix.length)).join(',') || NONE;
}

function addressOf(status: Draft | undefined, type: string): string {
  return String(((status?.addresses ?? []) as Draft[]).find((one) => one.type === type)?.address ?? NONE);
}

function requestState({ status }: AnyObject): string {
  const conditions = ((status?.conditions ?? []) as Draft[]).map(({ type }) => String(type));
  const state = conditions.length === 0 ? 'Pending' : conditions.join(',');
  return status?.certificate === undefined ? state : `${state},Issued`;
}
