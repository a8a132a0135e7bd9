/** Selectors of labels and fields, as lists, watches, budgets and services have them. */
import type { StoredObject } from '../../../src/simulation/api/api-store.ts';
import { matches as matchesFields } from '../../../src/simulation/api/field-selectors.ts';
import { badRequest } from './status-error.ts';

export type Labels = Readonly<Record<string, string>>;
type Requirement = (labels: Labels) => boolean;
export type ObjectTest = (object: StoredObject) => boolean;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Of the two selectors in the query of a list or watch. */
export function selected(labelSelector: string | null, fieldSelector: string | null): ObjectTest {
  const requirements = parsed(labelSelector ?? '');
  const fields = fieldSelector ?? '';
  for (const term of fields.split(',').filter(Boolean))
    if (!/^[\w.[\]]+(?:!=|==?)/.test(term))
      throw badRequest(`unable to parse field selector: invalid selector: '${term}'`);
  return (object) =>
    requirements.every((holds) => holds(object.metadata.labels ?? {})) && matchesFields(object, fields);
}

/** `app=web,tier in (a, b),!old,zone`. */
function parsed(selector: string): readonly Requirement[] {
  // A comma in parentheses does not end a term.
  const terms = selector.match(/(?:\([^)]*\)|[^,(])+/g) ?? [];
  return terms.map((term) => requirement(term.trim()));
}

function requirement(term: string): Requirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (labels) => values.includes(labels[key] ?? '\0') === (operator === 'in');
  }
  const [, key = '', operator, value = ''] = /^([^\s!=]+)\s*(!=|==?)\s*(\S*)$/.exec(term) ?? [];
  if (operator === '!=') return (labels) => labels[key] !== value;
  if (operator !== undefined) return (labels) => labels[key] === value;
  const [, not = '', name = ''] = /^(!?)\s*([\w./-]+)$/.exec(term) ?? [];
  if (name === '')
    throw badRequest(
      `unable to parse requirement: found '${term.slice(not.length, not.length + 1) || term.slice(0, 1)}', expected: identifier`,
    );
  return (labels) => (labels[name] !== undefined) === (not === '');
}

/** An empty selector matches everything. */
export function matchesSelector(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Labels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      return (value !== undefined && values.includes(value)) === (operator === 'In');
    })
  );
}
