/** Selectors of labels in a query, read as a real server reads them: `app=web,tier in (a, b),!old,zone`. */
import { badRequest } from './status-error.ts';

export type Labels = Readonly<Record<string, string>>;
export type Requirement = (labels: Labels) => boolean;

const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const KEY = /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/u;
const VALUE = /^(?:(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/u;
/** Operators of a requirement. */
const SET_OPERATORS = new Set(['in', 'notin']);
const OPERATORS = new Set([...SET_OPERATORS, '=', '==', '!=', 'gt', 'lt', '>', '<']);
const SIGNS = new Set(['(', ')', ',', '!', '=', '==', '!=', '>', '<']);

/** What is wrong with the key of a label; undefined if nothing is. */
export function labelKeyFlaw(key: string): string | undefined {
  if (KEY.test(key)) return undefined;
  const [prefix, ...names] = key.split('/');
  const isQualified = names.length === 1 && prefix !== '';
  return isQualified
    ? `name part ${NAME_RULE}`
    : names.length === 0
      ? `name part ${NAME_RULE}`
      : `a valid label key ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
}

/** What is wrong with the value of a label; undefined if nothing is. */
export function labelValueFlaw(value: string): string | undefined {
  return VALUE.test(value) ? undefined : VALUE_RULE;
}

/** Throws the server's answer to a selector that it cannot read. */
export function parsedSelector(selector: string): readonly Requirement[] {
  return new SelectorReader(selector).all();
}

class SelectorReader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(selector: string) {
    this.#tokens = selector.match(/==|!=|[(),!=<>]|[^\s(),!=<>]+/gu) ?? [];
  }

  all(): Requirement[] {
    const requirements: Requirement[] = [];
    if (this.#next === undefined) return requirements;
    for (;;) {
      const first = this.#next;
      if (first === undefined || (SIGNS.has(first) && first !== '!'))
        throw badRequest(`found '${first ?? ''}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after === undefined) return requirements;
      if (after !== ',') throw badRequest(`found '${after}', expected: ',' or 'end of string'`);
      const following = this.#next;
      if (following === undefined || (SIGNS.has(following) && following !== '!'))
        throw badRequest(`found '${following ?? ''}', expected: identifier after ','`);
    }
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(): string | undefined {
    return this.#tokens[this.#at++];
  }

  #requirement(): Requirement {
    const isNegated = this.#next === '!';
    if (isNegated) this.#take();
    const key = this.#take();
    if (key === undefined || SIGNS.has(key)) throw refused(`found '${key ?? ''}', expected: identifier`);
    const flaw = labelKeyFlaw(key);
    if (flaw !== undefined) throw refused(`<nil>: Invalid value: "${key}": ${flaw}`);
    if (isNegated) return (labels) => labels[key] === undefined;
    if (this.#next === undefined || this.#next === ',') return (labels) => labels[key] !== undefined;
    const operator = this.#take() ?? '';
    if (!OPERATORS.has(operator))
      throw refused(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    const values = SET_OPERATORS.has(operator) ? this.#values() : [this.#value()];
    for (const [index, value] of values.entries()) {
      const wrong = labelValueFlaw(value);
      if (wrong !== undefined) throw refused(`values[${index}][${key}]: Invalid value: "${value}": ${wrong}`);
    }
    if (operator === 'in' || operator === '=' || operator === '==')
      return (labels) => labels[key] !== undefined && values.includes(labels[key]);
    if (operator === 'notin' || operator === '!=') return (labels) => !values.includes(labels[key] ?? '\0');
    const [limit] = values.map(Number);
    const isGreater = operator === 'gt' || operator === '>';
    return (labels) => labels[key] !== undefined && Number(labels[key]) > (limit ?? 0) === isGreater;
  }

  #value(): string {
    const next = this.#next;
    if (next === undefined || next === ',') return '';
    if (SIGNS.has(next)) throw refused(`found '${next}', expected: identifier`);
    return this.#take() ?? '';
  }

  #values(): string[] {
    const open = this.#take();
    if (open !== '(') throw refused(`found '${open ?? ''}' expected: '('`);
    const values: string[] = [];
    for (;;) {
      const token = this.#take();
      if (token === ')') return values.length === 0 ? [''] : values;
      if (token === undefined) throw refused(`found '', expected: ',' or ')'`);
      if (token !== ',') values.push(token);
    }
  }
}

const refused = (why: string) => badRequest(`unable to parse requirement: ${why}`);
