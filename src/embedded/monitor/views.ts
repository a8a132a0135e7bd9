import { join } from 'node:path';
import { IDENTIFYING_NAMES } from '../../agent/policies/cri/cri-labels.ts';
import type {
  Container,
  ContainerFilter,
  ContainerStatus,
  PodSandbox,
  PodSandboxFilter,
  PodSandboxStatus,
} from '../../types/cri.ts';
import type { ContainerRecord, SandboxRecord } from './records.ts';

/** Records in the form that CRI gives them. */

/** Far more than the reference of an image has. */
const IMAGE_LENGTH_MAX = 1_024;

export function toSandbox({ id, config, createdAt, state }: SandboxRecord): PodSandbox {
  const { metadata, labels, annotations } = config;
  return { id, metadata, state, createdAt, labels, annotations };
}

/**
 * As lists have it: of labels and annotations only those that the agent knows it by. All others, and the image, are as long as their
 * author wants, and a list of all pods must not become larger than a client takes.
 */
export function toListedSandbox(record: SandboxRecord): PodSandbox {
  return withIdentityOnly(toSandbox(record));
}

export function toListedContainer(record: ContainerRecord): Container {
  const container = toContainer(record);
  const image = container.image.slice(0, IMAGE_LENGTH_MAX);
  return { ...withIdentityOnly(container), image, imageRef: image };
}

function withIdentityOnly<T extends { readonly labels: Labels; readonly annotations: Labels }>(item: T): T {
  return { ...item, labels: identifying(item.labels), annotations: identifying(item.annotations) };
}

function identifying(texts: Labels): Labels {
  return Object.fromEntries(Object.entries(texts).filter(([name]) => IDENTIFYING_NAMES.has(name)));
}

/**
 * The network mode is the requested one, although all pods share the machine's network: a different mode would make
 * the agent replace the sandbox.
 */
export function toSandboxStatus(record: SandboxRecord): PodSandboxStatus {
  const { network = 'POD' } = record.config.linux?.securityContext?.namespaceOptions ?? {};
  return { ...toSandbox(record), networkMode: network };
}

export function toContainer({ id, podSandboxId, config, createdAt, state }: ContainerRecord): Container {
  const { metadata, labels, annotations, image } = config;
  return {
    id,
    podSandboxId,
    metadata,
    image: image.image,
    imageRef: image.image,
    state,
    createdAt,
    labels,
    annotations,
  };
}

export function toContainerStatus(record: ContainerRecord, sandbox: SandboxRecord): ContainerStatus {
  const exit = record.state === 'CONTAINER_EXITED' ? record.exit : undefined;
  return {
    ...toContainer(record),
    startedAt: record.startedAt,
    finishedAt: exit?.finishedAt ?? 0,
    exitCode: exit?.exitCode ?? 0,
    reason: exit?.reason ?? '',
    message: exit?.message ?? '',
    logPath: logFilePath(record, sandbox) ?? '',
  };
}

/** Undefined if the container has no log. */
export function logFilePath({ config }: ContainerRecord, sandbox: SandboxRecord): string | undefined {
  const { logDirectory } = sandbox.config;
  return config.logPath === '' || logDirectory === '' ? undefined : join(logDirectory, config.logPath);
}

export function matchesSandbox(record: SandboxRecord, filter: PodSandboxFilter): boolean {
  return (
    (filter.id === undefined || record.id === filter.id) &&
    (filter.state === undefined || record.state === filter.state) &&
    hasLabels(record.config.labels, filter.labelSelector)
  );
}

export function matchesContainer(record: ContainerRecord, filter: ContainerFilter): boolean {
  return (
    (filter.id === undefined || record.id === filter.id) &&
    (filter.podSandboxId === undefined || record.podSandboxId === filter.podSandboxId) &&
    (filter.state === undefined || record.state === filter.state) &&
    hasLabels(record.config.labels, filter.labelSelector)
  );
}

type Labels = Readonly<Record<string, string>>;

function hasLabels(labels: Labels, selector: Labels = {}): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
