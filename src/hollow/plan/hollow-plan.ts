/** Reads and checks the plan file: the size of hollow nodes, and what happens on them. */
import { parse } from 'yaml';
import { parseDuration } from '../../agent/policies/formats/duration.ts';
import { parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import { CONTAINERD_LATENCIES, type Latencies, type Range } from '../../simulation/runtime/chance.ts';
import { errorMessage, invalid } from '../../types/errors.ts';
import type { Taint } from '../../types/kubernetes.ts';

/** Something that happens to a share of all containers, at some time after their start. */
export interface ContainerEnd {
  /** From 0 to 1. */
  readonly share: number;
  readonly afterMs: Range;
  readonly exitCode: number;
}

export interface HollowPlan {
  readonly seed: number;
  /** The prefix of node names; the number of the node follows. */
  readonly names: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly capacity: Readonly<Record<string, string>>;
  /** How long calls of the runtime take. */
  readonly calls: Latencies;
  /** The share of calls of the runtime that fail, from 0 to 1. */
  readonly callFailures: number;
  readonly crashes: ContainerEnd;
  readonly outOfMemory: ContainerEnd;
  /** The share of windows of time in which the probes of a container fail. */
  readonly probeFailures: { readonly share: number; readonly windowMs: number };
  /** What containers use of the CPU that they request: one of these by chance. */
  readonly cpu: { readonly uses: readonly number[] };
  readonly memory: {
    /** What containers use at their start, of what they request. */
    readonly uses: readonly number[];
    /** The share of containers whose memory grows, from 0 to 1. */
    readonly growing: number;
    readonly bytesPerSecond: number;
  };
  /** Undefined: nodes die only by command. */
  readonly deaths: { readonly everyMs: Range; readonly downMs: Range } | undefined;
}

const DEFAULT_CAPACITY = { cpu: '8', memory: '32Gi', pods: '110', 'ephemeral-storage': '100Gi' };
const MINUTE_MS = 60_000;
const MI = 2 ** 20;
const NEVER = { share: 0, afterMs: [MINUTE_MS, 10 * MINUTE_MS] as const };

export const DEFAULT_PLAN: HollowPlan = {
  seed: 1,
  names: 'hollow-',
  labels: {},
  taints: [],
  capacity: DEFAULT_CAPACITY,
  calls: CONTAINERD_LATENCIES,
  callFailures: 0,
  crashes: { ...NEVER, exitCode: 1 },
  outOfMemory: { ...NEVER, exitCode: 137 },
  probeFailures: { share: 0, windowMs: MINUTE_MS },
  cpu: { uses: [0.1, 0.3, 0.6] },
  memory: { uses: [0.3, 0.6, 0.9], growing: 0, bytesPerSecond: MI },
  deaths: undefined,
};

/** Throws `InvalidArgument` for what is no plan. The message names the file and the field. */
export function parseHollowPlan(text: string, file: string): HollowPlan {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw invalid(`${file}: ${errorMessage(error)}`);
  }
  const root = new Field(value ?? {}, file, []);
  const { fields } = root.members([
    'seed',
    'names',
    'labels',
    'taints',
    'capacity',
    'calls',
    'callFailures',
    'crashes',
    'outOfMemory',
    'probeFailures',
    'cpu',
    'memory',
    'deaths',
  ]);
  const base = DEFAULT_PLAN;
  return {
    seed: fields.seed?.wholeNumber(2 ** 32 - 1) ?? base.seed,
    names: fields.names?.namePrefix() ?? base.names,
    labels: fields.labels?.texts() ?? base.labels,
    taints: fields.taints?.items().map(taintOf) ?? base.taints,
    capacity: { ...base.capacity, ...fields.capacity?.quantities() },
    calls: { ...base.calls, ...fields.calls?.latencies(Object.keys(base.calls)) },
    callFailures: fields.callFailures?.share() ?? base.callFailures,
    crashes: endOf(fields.crashes, base.crashes, ['exitCode']),
    outOfMemory: endOf(fields.outOfMemory, base.outOfMemory, []),
    probeFailures: probeFailuresOf(fields.probeFailures),
    cpu: { uses: usesOf(fields.cpu?.members(['uses']).fields.uses) ?? base.cpu.uses },
    memory: memoryOf(fields.memory),
    deaths: deathsOf(fields.deaths),
  };
}

function taintOf(field: Field): Taint {
  const { fields } = field.members(['key', 'value', 'effect']);
  const key = fields.key?.text();
  const effect = fields.effect?.oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  if (key === undefined || effect === undefined) field.fail('needs key and effect');
  const value = fields.value?.text();
  return { key, effect, value };
}

function endOf(field: Field | undefined, base: ContainerEnd, others: readonly 'exitCode'[]): ContainerEnd {
  const { fields } = field?.members(['share', 'after', ...others]) ?? { fields: {} };
  return {
    share: fields.share?.share() ?? base.share,
    afterMs: fields.after?.range() ?? base.afterMs,
    exitCode: fields.exitCode?.wholeNumber(255) ?? base.exitCode,
  };
}

function probeFailuresOf(field: Field | undefined): HollowPlan['probeFailures'] {
  const base = DEFAULT_PLAN.probeFailures;
  const { fields } = field?.members(['share', 'window']) ?? { fields: {} };
  return {
    share: fields.share?.share() ?? base.share,
    windowMs: fields.window?.duration() ?? base.windowMs,
  };
}

function memoryOf(field: Field | undefined): HollowPlan['memory'] {
  const base = DEFAULT_PLAN.memory;
  const { fields } = field?.members(['uses', 'growing', 'perSecond']) ?? { fields: {} };
  return {
    uses: usesOf(fields.uses) ?? base.uses,
    growing: fields.growing?.share() ?? base.growing,
    bytesPerSecond: fields.perSecond?.bytes() ?? base.bytesPerSecond,
  };
}

function usesOf(field: Field | undefined): readonly number[] | undefined {
  return field?.items().map((one) => one.number());
}

function deathsOf(field: Field | undefined): HollowPlan['deaths'] {
  if (field === undefined) return undefined;
  const { fields } = field.members(['every', 'down']);
  const everyMs = fields.every?.range() ?? field.fail('needs every, such as [30m, 2h]');
  return { everyMs, downMs: fields.down?.range() ?? [MINUTE_MS, 5 * MINUTE_MS] };
}

type Fields = Readonly<Partial<Record<string, Field>>>;

/** A value of the plan with its place. */
class Field {
  readonly #value: unknown;
  readonly #file: string;
  readonly #path: readonly (string | number)[];

  constructor(value: unknown, file: string, path: readonly (string | number)[]) {
    this.#value = value;
    this.#file = file;
    this.#path = path;
  }

  fail(problem: string): never {
    const path = this.#path.map((part) => (typeof part === 'number' ? `[${String(part)}]` : `.${part}`));
    const place = path.join('').replace(/^\./u, '');
    throw invalid([this.#file, place, problem].filter((part) => part !== '').join(': '));
  }

  /** Those that are set. Others than the named ones are refused. */
  members(names: readonly string[]): { readonly fields: Fields } {
    const entries = this.#entries();
    const unknown = entries.find(([name]) => !names.includes(name));
    if (unknown !== undefined) unknown[1].fail(`is not known here; known are ${names.join(', ')}`);
    return { fields: Object.fromEntries(entries) };
  }

  items(): readonly Field[] {
    if (!Array.isArray(this.#value)) this.fail('is not a list');
    const items = this.#value as readonly unknown[];
    if (items.length === 0) this.fail('is empty');
    return items.map((item, index) => new Field(item, this.#file, [...this.#path, index]));
  }

  text(): string {
    return typeof this.#value === 'string' ? this.#value : this.fail('is not a text');
  }

  texts(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#entries().map(([name, field]) => [name, field.text()]));
  }

  oneOf(choices: readonly string[]): string {
    const text = this.text();
    return choices.includes(text) ? text : this.fail(`"${text}" is none of ${choices.join(', ')}`);
  }

  namePrefix(): string {
    const text = this.text();
    return /^[a-z0-9]([-a-z0-9]{0,40})$/u.test(text)
      ? text
      : this.fail(`"${text}" cannot begin the name of a node: up to 41 lower case letters, digits and "-"`);
  }

  number(): number {
    const value = this.#value;
    return typeof value === 'number' && value >= 0 && value < Infinity
      ? value
      : this.fail('is not a number from 0 on');
  }

  wholeNumber(max: number): number {
    const value = this.#value;
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max) return value as number;
    return this.fail(`is not a whole number from 0 to ${String(max)}`);
  }

  share(): number {
    const value = this.#value;
    if (typeof value === 'number' && value >= 0 && value <= 1) return value;
    return this.fail('is not a number from 0 to 1');
  }

  duration(): number {
    const ms = typeof this.#value === 'string' ? parseDuration(this.#value) : undefined;
    return ms !== undefined && ms > 0 && ms <= MAX_DURATION_MS
      ? Math.ceil(ms)
      : this.fail('is not a duration such as 500ms, 30s or 2h, of a week at most');
  }

  /** `[30s, 5m]`, or one duration. */
  range(): Range {
    if (!Array.isArray(this.#value)) {
      const always = this.duration();
      return [always, always];
    }
    const items = this.items();
    const [from, to] = items.map((item) => item.duration());
    if (from === undefined || to === undefined || items.length !== 2) this.fail('has not two durations');
    if (from > to) this.fail('begins after its end');
    return [from, to];
  }

  latencies(names: readonly string[]): Latencies {
    this.members(names);
    return Object.fromEntries(this.#entries().map(([name, field]) => [name, field.range()]));
  }

  bytes(): number {
    return Number(quantityValue(parseQuantity(this.#quantity())));
  }

  quantities(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#entries().map(([name, field]) => [name, field.#quantity()]));
  }

  #quantity(): string {
    const value = this.#value;
    if (typeof value !== 'string' && typeof value !== 'number') this.fail('is not a quantity such as 16Gi');
    try {
      parseQuantity(value);
    } catch (error) {
      this.fail(errorMessage(error));
    }
    return String(value);
  }

  #entries(): readonly (readonly [string, Field])[] {
    const value = this.#value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) this.fail('is not a map');
    return Object.entries(value).map(
      ([name, member]) => [name, new Field(member, this.#file, [...this.#path, name])] as const,
    );
  }
}

const MAX_DURATION_MS = 7 * 24 * 60 * MINUTE_MS;
