/** A value of a plan file, which knows its place: what is wrong with it is said with that place. */
import { parseDuration } from '../../agent/policies/formats/duration.ts';
import { parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import { isExtendedResourceName } from '../../agent/policies/node/node-capacity.ts';
import type { Range } from '../../simulation/runtime/chance.ts';
import { errorMessage, invalid } from '../../types/errors.ts';

/** The rule of CSI for names of drivers; those of DRA are DNS names, which the API server checks. */
const NAME = /^[a-zA-Z0-9]([-.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/u;
const MAX_DURATION_MS = 7 * 24 * 60 * 60_000;

/** What fails, and comes back. */
export interface PlannedOutages {
  readonly everyMs: Range;
  readonly downMs: Range;
}

type Fields = Readonly<Partial<Record<string, PlanField>>>;

export class PlanField {
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

  items(): readonly PlanField[] {
    if (!Array.isArray(this.#value)) this.fail('is not a list');
    const items = this.#value as readonly unknown[];
    if (items.length === 0) this.fail('is empty');
    return items.map((item, index) => new PlanField(item, this.#file, [...this.#path, index]));
  }

  /** A list of things that have different names, such as drivers: up to 63 letters, digits, "-" and ".". */
  named(what: string): readonly { readonly name: string; readonly field: PlanField }[] {
    const names = new Set<string>();
    return this.items().map((field) => {
      const own = Object.fromEntries(field.#entries()).name ?? field.fail('needs a name');
      const name = own.text();
      if (!NAME.test(name)) own.fail(`"${name}" is no name of a ${what}, such as ${what}.example.com`);
      if (names.has(name)) own.fail(`there are two of the name "${name}"`);
      names.add(name);
      return { name, field };
    });
  }

  text(): string {
    return typeof this.#value === 'string' ? this.#value : this.fail('is not a text');
  }

  texts(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#entries().map(([name, field]) => [name, field.text()]));
  }

  scalars(): Readonly<Record<string, string | number | boolean>> {
    return Object.fromEntries(this.#entries().map(([name, field]) => [name, field.#scalar()]));
  }

  oneOf<Choice extends string>(choices: readonly Choice[]): Choice {
    const text = this.text();
    const choice = choices.find((one) => one === text);
    return choice ?? this.fail(`"${text}" is none of ${choices.join(', ')}`);
  }

  /** Of a device plugin. */
  resourceName(): string {
    const text = this.text();
    return isExtendedResourceName(text)
      ? text
      : this.fail(`"${text}" is no name of an extended resource, such as example.com/gpu`);
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

  flag(): boolean {
    return typeof this.#value === 'boolean' ? this.#value : this.fail('is neither true nor false');
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

  outages(example: string, downMs: Range): PlannedOutages {
    const { fields } = this.members(['every', 'down']);
    const everyMs = fields.every?.range() ?? this.fail(`needs every, such as ${example}`);
    return { everyMs, downMs: fields.down?.range() ?? downMs };
  }

  latencies<Name extends string>(names: readonly Name[]): Readonly<Partial<Record<Name, Range>>> {
    this.members(names);
    const ranges = this.#entries().map(([name, field]) => [name, field.range()]);
    return Object.fromEntries(ranges) as Partial<Record<Name, Range>>;
  }

  bytes(): number {
    return Number(quantityValue(parseQuantity(this.#quantity())));
  }

  quantities(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#entries().map(([name, field]) => [name, field.#quantity()]));
  }

  #scalar(): string | number | boolean {
    const value = this.#value;
    if (typeof value === 'string' || typeof value === 'boolean') return value;
    return Number.isSafeInteger(value)
      ? (value as number)
      : this.fail('is neither a text, nor a whole number, nor true or false');
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

  #entries(): readonly (readonly [string, PlanField])[] {
    const value = this.#value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) this.fail('is not a map');
    return Object.entries(value).map(
      ([name, member]) => [name, new PlanField(member, this.#file, [...this.#path, name])] as const,
    );
  }
}
