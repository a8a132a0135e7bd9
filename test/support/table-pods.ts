/** Pods made from the table of their fields: they make no sense, but have all fields that a pod can have. */
import fields from '../../src/agent/plugins/protocol/pod-fields.json' with { type: 'json' };
import type { SeededRandom } from '../../src/simulation/plan/seeded-random.ts';

type Json = Record<string, unknown>;
export type FieldRows = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const ROWS: FieldRows = fields.messages;

const ROW = /^\d+ (\*|\[\]|map )?(\w+)(!)?$/;
const INT_MAX = 2 ** 31 - 1;
const TEXTS = [
  '',
  'a',
  'main',
  'registry.example/app:1.2@sha256:0f',
  'grüße, 世界 🚀',
  'x'.repeat(200),
  '"\n\\',
];
const QUANTITIES = [
  '0',
  '1',
  '100m',
  '1Gi',
  '1500M',
  '3Ki',
  '-2',
  '12345678901234567890',
  '1024Ki',
  '0.5',
  '1e3',
];
const TIMES = [
  '2026-02-17T08:09:10Z',
  '1970-01-01T00:00:00Z',
  '1969-12-31T23:59:59Z',
  '2263-01-01T00:00:00Z',
];
const MANAGED = [{ 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } } }, {}];

/** Every field of every message has a value that is not zero. */
export function podOfAllFields(): Json {
  const number = { value: 0 };
  const pod = objectOf('Pod', {
    has: () => true,
    count: () => 1,
    text: () => `text-${(number.value += 1)}`,
    flag: () => true,
    int: () => (number.value += 1),
    pick: (items) => items[0] as never,
  });
  // The API server makes these agree.
  const status = pod.status as { podIP: string; podIPs: { ip: string }[] };
  status.podIP = status.podIPs[0]?.ip ?? '';
  return pod;
}

/** Every field of every message is there, and zero where it can be. */
export function podOfZeros(): Json {
  return objectOf('Pod', {
    has: () => true,
    count: () => 1,
    text: () => '',
    flag: () => false,
    int: () => 0,
    pick: (items) => items[0] as never,
  });
}

/** Some fields, with any values. */
export function randomPod(random: SeededRandom): Json {
  const share = random.pick([0.1, 0.3, 0.7]);
  return objectOf('Pod', {
    has: (depth) => depth === 0 || random.next() < (depth === 1 ? 0.9 : share),
    count: () => random.integer(0, 3),
    text: () => random.pick(TEXTS),
    flag: () => random.next() < 0.5,
    int: () => random.pick([0, 1, -1, 443, 65_536, INT_MAX, -INT_MAX - 1]),
    pick: (items) => random.pick(items),
  });
}

interface Chance {
  has(depth: number): boolean;
  count(): number;
  text(): string;
  flag(): boolean;
  int(): number;
  pick<T>(items: readonly T[]): T;
}

function objectOf(message: string, chance: Chance, depth = 0): Json {
  const object: Json = {};
  for (const [name, row] of Object.entries(rowsOf(message))) {
    const [, prefix, type = '', always] = ROW.exec(row) ?? [];
    const value = () => valueOf(type, chance, depth + 1);
    if (name.startsWith('...')) Object.assign(object, value());
    // To the API server, a missing time is the same as an absent field.
    else if (!chance.has(depth) && (always === undefined || type === 'Time')) continue;
    // Protocol buffers do not tell an empty list from none, which JSON does for lists that it always has.
    else if (prefix === '[]') object[name] = listOf(value, chance, always);
    else if (prefix === 'map ') object[name] = mapOf(listOf(value, chance, always));
    else object[name] = value();
  }
  return object;
}

function listOf(value: () => unknown, chance: Chance, always: string | undefined): unknown[] {
  return Array.from({ length: chance.count() + (always === undefined ? 0 : 1) }, value);
}

function mapOf(values: readonly unknown[]): Json {
  return Object.fromEntries(values.map((value, index) => [`key-${index}`, value]));
}

function valueOf(type: string, chance: Chance, depth: number): unknown {
  switch (type) {
    case 'string':
      return chance.text();
    case 'bool':
      return chance.flag();
    case 'int':
      return chance.int();
    case 'Time':
      return chance.pick(TIMES);
    case 'Quantity':
      return chance.pick(QUANTITIES);
    case 'IntOrString':
      return chance.flag() ? chance.int() : chance.text();
    case 'FieldsV1':
      return chance.pick(MANAGED);
    default:
      return objectOf(type, chance, depth);
  }
}

export function rowsOf(message: string): Readonly<Record<string, string>> {
  const found = ROWS[message];
  if (found === undefined) throw new Error(`the table has no ${message}`);
  return found;
}
