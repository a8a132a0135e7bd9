/** The rules of the API server's validation for affinity, tolerations and topology. Tolerates a pod that breaks the schema. */
import { child, items, problemAt, repeated, text, type Place } from './place.ts';
import type { ManifestProblem } from '../source.ts';

type Problems = Iterable<ManifestProblem>;

const QUALIFIED_NAME =
  /^([A-Za-z0-9][-A-Za-z0-9.]{0,251}[A-Za-z0-9]?\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/;
const VALUES = 'values';

export function* tolerations(spec: Place): Problems {
  for (const toleration of items(spec, 'tolerations')) {
    const { key = '', operator = '', effect = '', tolerationSeconds } = toleration.value;
    const value = text(toleration, 'value') ?? '';
    if (key === '' && (operator === '' || operator === 'Equal'))
      yield problemAt(
        toleration,
        'operator',
        'must be Exists where there is no key: it tolerates all taints',
      );
    if (tolerationSeconds !== undefined && effect !== 'NoExecute')
      yield problemAt(toleration, 'effect', 'must be NoExecute where there are tolerationSeconds');
    if (operator === 'Exists' && value !== '')
      yield problemAt(toleration, 'value', 'must be left out where the operator is Exists');
    else if (!LABEL_VALUE.test(value))
      yield problemAt(
        toleration,
        'value',
        "must be a label's value (at most 63 of letters, digits, '-', '_' and '.')",
      );
  }
}

export function* topology(spec: Place): Problems {
  yield* repeated(items(spec, 'topologySpreadConstraints'), 'topologyKey', ({ value }) =>
    JSON.stringify([value.topologyKey, value.whenUnsatisfiable]),
  );
}

export function* affinity(spec: Place): Problems {
  for (const place of child(spec, 'affinity')) {
    for (const nodes of child(place, 'nodeAffinity')) {
      const required = child(nodes, 'requiredDuringSchedulingIgnoredDuringExecution');
      const preferred = items(nodes, 'preferredDuringSchedulingIgnoredDuringExecution');
      const terms = [
        ...required.flatMap((selector) => items(selector, 'nodeSelectorTerms')),
        ...preferred.flatMap((term) => child(term, 'preference')),
      ];
      for (const term of terms) yield* nodeTerm(term);
    }
    for (const pods of [...child(place, 'podAffinity'), ...child(place, 'podAntiAffinity')]) {
      const terms = [
        ...items(pods, 'requiredDuringSchedulingIgnoredDuringExecution'),
        ...items(pods, 'preferredDuringSchedulingIgnoredDuringExecution').flatMap((term) =>
          child(term, 'podAffinityTerm'),
        ),
      ];
      for (const selector of terms.flatMap((term) => child(term, 'labelSelector')))
        yield* labelSelector(selector);
    }
  }
}

function* nodeTerm(term: Place): Problems {
  for (const expression of items(term, 'matchExpressions')) {
    yield* nameAndValues(expression);
    const { operator, values } = expression.value;
    if ((operator === 'Gt' || operator === 'Lt') && (!Array.isArray(values) || values.length !== 1))
      yield problemAt(expression, VALUES, `must have exactly one item where the operator is ${operator}`);
  }
  for (const field of items(term, 'matchFields')) {
    const { key, operator, values } = field.value;
    if (key !== 'metadata.name')
      yield problemAt(field, 'key', 'must be metadata.name: a node is chosen by no other field');
    if (operator !== 'In' && operator !== 'NotIn') yield problemAt(field, 'operator', 'must be In or NotIn');
    else if (!Array.isArray(values) || values.length !== 1)
      yield problemAt(field, VALUES, 'must have exactly one item');
  }
}

function* labelSelector(selector: Place): Problems {
  for (const expression of items(selector, 'matchExpressions')) yield* nameAndValues(expression);
}

function* nameAndValues(expression: Place): Problems {
  const { key, operator, values } = expression.value;
  const given: readonly unknown[] = Array.isArray(values) ? values : [];
  if (typeof key === 'string' && !QUALIFIED_NAME.test(key))
    yield problemAt(expression, 'key', "must be a qualified name such as 'app' or 'example.com/app'");
  const takesList = operator === 'In' || operator === 'NotIn';
  if (takesList && given.length === 0)
    yield problemAt(expression, VALUES, `must not be empty where the operator is ${operator}`);
  if ((operator === 'Exists' || operator === 'DoesNotExist') && given.length > 0)
    yield problemAt(expression, VALUES, `must be left out where the operator is ${operator}`);
  if (takesList && given.some((value) => typeof value === 'string' && !LABEL_VALUE.test(value)))
    yield problemAt(
      expression,
      VALUES,
      "must be labels' values (at most 63 of letters, digits, '-', '_' and '.')",
    );
}
