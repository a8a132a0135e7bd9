/**
 * The data of an event, or of a chart's context, as JSON for the flight recorder: pods as numbers, without secrets, functions and
 * actors, and bounded. What JSON has no notation for is an object with one field: `{"$pod":7}`, `{"$map":[…]}`, `{"$set":[…]}`,
 * `{"$number":"Infinity"}`.
 */
import type { PodReference } from '../../types/event-recorder.ts';
import type { Container, Pod } from '../../types/kubernetes.ts';
import {
  hasSecretValues,
  isCommandField,
  isSecretField,
  redactText,
} from '../../agent/policies/formats/secret-fields.ts';
import { CONFIG_MIRROR_ANNOTATION, CONFIG_SOURCE_ANNOTATION } from '../../agent/policies/pod/pod-kinds.ts';
import type { SeenContainer } from '../../agent/policies/probes/probe.ts';

const TEXT_MAX = 400;
const LIST_MAX = 64;
/** By chart: the supervisor's lists are of all pods and decide nothing; those of a shutdown come once. */
const LIST_MAX_OF: Readonly<Record<string, number>> = { supervisor: 8, shutdown: 10_000 };
/** Deeper than any event; a deeper value is probably a cycle. */
const DEPTH_MAX = 10;
/** Names of fields come from the code: there are few. */
const NAMES_MAX = 2_000;

/** Fields that no guard and no assign reads, and that are long: they come again with each pass or renewal. */
const UNREAD: Readonly<Record<string, ReadonlySet<string>>> = {
  eviction: new Set(
    ['observations', 'told', 'conditionsLastObserved', 'met', 'victim', 'annotations', 'kill'].concat([
      ...['value', 'minReclaim', 'quantity', 'available'],
    ]),
  ),
  evictionPlugins: new Set(['candidates', 'decided', 'ended']),
  lease: new Set(['lease']),
};
/** Lists that no chart reads, and of which `statelet why` shows the first names: only these are written. */
const NAMED_ONLY: Readonly<Record<string, string>> = { eviction: 'candidates', preemption: 'candidates' };
export const NAMED_MAX = 10;
const NONE: ReadonlySet<string> = new Set();
const NO_FIELDS = '{}';

export interface DataText {
  readonly json: string;
  /** Something long was cut off. */
  readonly isCut: boolean;
}

export class DataWriter {
  readonly #numberOf: (pod: Pod) => number;
  /** Of fields: `"uid":`; empty for one that may hold a secret. */
  readonly #labels = new Map<string, string>();
  #unread: ReadonlySet<string> = NONE;
  #listMax = LIST_MAX;
  #namedOnly: string | undefined;
  #isCut = false;

  /** `numberOf`: by which the record knows the pod. */
  constructor(numberOf: (pod: Pod) => number) {
    this.#numberOf = numberOf;
  }

  /** The data of the event beside its type; undefined where there is none. */
  ofEvent(chart: string, event: object): DataText | undefined {
    for (const field in event) if (field !== 'type') return this.#nonEmpty(chart, event, 'type');
    return undefined;
  }

  ofContext(chart: string, context: object): DataText {
    return this.#nonEmpty(chart, context, '') ?? { json: NO_FIELDS, isCut: false };
  }

  #nonEmpty(chart: string, value: object, without: string): DataText | undefined {
    this.#unread = UNREAD[chart] ?? NONE;
    this.#listMax = LIST_MAX_OF[chart] ?? LIST_MAX;
    this.#namedOnly = NAMED_ONLY[chart];
    this.#isCut = false;
    const json = this.#fields(value, 0, without);
    return json === NO_FIELDS ? undefined : { json, isCut: this.#isCut };
  }

  #fields(value: object, depth: number, without: string): string {
    let text = '';
    for (const name in value) {
      const field = (value as Readonly<Record<string, unknown>>)[name];
      if (field === undefined || name === without || this.#unread.has(name)) continue;
      const label = this.#labels.get(name) ?? this.#labelOf(name);
      if (label === '') continue;
      const json = this.#value(name, field, depth + 1);
      if (json !== undefined) text += text === '' ? label + json : `,${label}${json}`;
    }
    return `{${text}}`;
  }

  /** Undefined for what is left out. */
  #value(name: string, value: unknown, depth: number): string | undefined {
    switch (typeof value) {
      case 'number':
        return Number.isFinite(value) ? String(value) : `{"$number":"${value}"}`;
      case 'boolean':
        return String(value);
      case 'string':
        return this.#text(value);
      case 'object':
        if (value === null) return 'null';
        return this.#object(name, value, depth);
      default:
        return undefined;
    }
  }

  #object(name: string, value: object, depth: number): string | undefined {
    if (depth > DEPTH_MAX) {
      this.#isCut = true;
      return undefined;
    }
    if (Array.isArray(value)) return name === this.#namedOnly ? names(value) : this.#list(value, depth);
    if (isPod(value)) return `{"$pod":${this.#numberOf(value)}}`;
    if (value instanceof Map)
      return `{"$map":${this.#list(
        Array.from(value, (entry) => entry as unknown),
        depth,
      )}}`;
    if (value instanceof Set) return `{"$set":${this.#list([...value], depth)}}`;
    if (value instanceof Error) return this.#text(value.message);
    if (isActor(value)) return undefined;
    return this.#fields(name === 'container' ? (recordedContainer(value) as object) : value, depth, '');
  }

  #list(list: readonly unknown[], depth: number): string {
    if (list.length > this.#listMax) this.#isCut = true;
    const kept = list.slice(0, this.#listMax);
    return `[${kept.map((item) => this.#value('', item, depth + 1) ?? 'null').join()}]`;
  }

  /** Only texts with blanks or URLs are searched for secrets: names and ids have neither. */
  #text(text: string): string {
    if (text.length > TEXT_MAX) this.#isCut = true;
    const kept = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text;
    return JSON.stringify(kept.includes(' ') || kept.includes('//') ? redactText(kept) : kept);
  }

  #labelOf(name: string): string {
    const isSecret = hasSecretValues(name) || isCommandField(name) || isSecretField(name);
    const label = isSecret ? '' : `${JSON.stringify(name)}:`;
    if (this.#labels.size < NAMES_MAX) this.#labels.set(name, label);
    return label;
  }
}

function names(list: readonly PodReference[]): string {
  const first = list.slice(0, NAMED_MAX);
  return JSON.stringify(first.map(({ namespace, name, uid }) => ({ namespace, name, uid })));
}

/** The reverse. `pods`: by their numbers. */
export function restoredData(value: unknown, pods: ReadonlyMap<number, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => restoredData(item, pods));
  const fields = Object.entries(value) as [string, unknown][];
  const [name = '', inner] = fields[0] ?? [];
  if (fields.length === 1 && name.startsWith('$')) return restoredMark(name, inner, pods);
  return Object.fromEntries(fields.map(([field, item]) => [field, restoredData(item, pods)]));
}

function restoredMark(name: string, inner: unknown, pods: ReadonlyMap<number, unknown>): unknown {
  if (name === '$pod') return pods.get(Number(inner));
  if (name === '$number') return Number(inner);
  const list = restoredData(inner, pods);
  if (name === '$set') return new Set(list as unknown[]);
  return name === '$map' ? new Map(list as [unknown, unknown][]) : undefined;
}

function isActor(value: object): boolean {
  return 'send' in value && 'getSnapshot' in value;
}

type ProbeField = `${'liveness' | 'readiness' | 'startup'}Probe`;

const PROBES: readonly ProbeField[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];

export function isPod(value: object): value is Pod {
  if (!('metadata' in value) || !('spec' in value)) return false;
  const { metadata, spec } = value;
  if (typeof metadata !== 'object' || metadata === null || typeof spec !== 'object' || spec === null)
    return false;
  return 'uid' in metadata && 'containers' in spec && Array.isArray(spec.containers);
}

/**
 * What the flight recorder keeps of a pod: what guards, assigns and the policies that charts call read of it, and its names. No
 * environment, no command, no label, and of the annotations only the one that says where the pod came from.
 */
export function recordedPod({ metadata, spec, status }: Pod): unknown {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const { annotations } = metadata;
  const [source, mirror] = [annotations?.[CONFIG_SOURCE_ANNOTATION], annotations?.[CONFIG_MIRROR_ANNOTATION]];
  return {
    metadata: {
      name,
      namespace,
      uid,
      creationTimestamp,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      ...((source ?? mirror) !== undefined && {
        annotations: { [CONFIG_SOURCE_ANNOTATION]: source, [CONFIG_MIRROR_ANNOTATION]: mirror },
      }),
    },
    spec: {
      priority: spec.priority,
      priorityClassName: spec.priorityClassName,
      restartPolicy: spec.restartPolicy,
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
      containers: spec.containers.map(({ name: container }) => ({ name: container })),
    },
    ...(status?.phase !== undefined && { status: { phase: status.phase } }),
  };
}

/** A container of a pod, or one as its status shows it. */
function recordedContainer(container: Partial<Container & SeenContainer>): unknown {
  const { name, restartPolicy, restartPolicyRules } = container;
  const { id, started, state, startedAt, exitCode } = container as Readonly<Record<string, unknown>>;
  const probes = PROBES.filter((kind) => container[kind] != null);
  return {
    ...{ name, restartPolicy, restartPolicyRules, id, started, state, startedAt, exitCode },
    ...Object.fromEntries(probes.map((kind) => [kind, recordedProbe(container[kind])])),
  };
}

/** When it runs and what it takes to fail; not what it runs. */
function recordedProbe(probe: Container[ProbeField]): unknown {
  const { initialDelaySeconds, periodSeconds, timeoutSeconds, successThreshold, failureThreshold } =
    probe ?? {};
  return { initialDelaySeconds, periodSeconds, timeoutSeconds, successThreshold, failureThreshold };
}
