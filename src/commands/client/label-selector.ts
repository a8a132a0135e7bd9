/** Selectors of labels as kubectl takes them with `-l`: `app=web,tier!=db,env in (a, b),!old`. */
import { matchesLabels } from '../../agent/policies/admission/node-affinity.ts';
import { invalid } from '../../types/errors.ts';
import type { NodeSelectorRequirement } from '../../types/kubernetes.ts';

export type LabelSelector = (labels: Readonly<Record<string, string>> | undefined) => boolean;

const KEY = String.raw`([A-Za-z0-9][\w./-]*)`;
const IN_SET = new RegExp(String.raw`^${KEY} +(in|notin) *\(([^()]*)\)$`, 'u');
const EQUAL = new RegExp(String.raw`^${KEY} *(==?|!=) *([\w.-]*)$`, 'u');
const PRESENT = new RegExp(String.raw`^(! *)?${KEY}$`, 'u');

/** Throws `InvalidArgument`. Without a text all are selected. */
export function labelSelector(text: string | undefined): LabelSelector {
  const requirements = partsOf(text ?? '').map((part) => requirementOf(part, text ?? ''));
  return (labels = {}) => {
    const known = new Map(Object.entries(labels));
    return requirements.every((requirement) => matchesLabels(requirement, known));
  };
}

/** Commas inside parentheses part values. */
function partsOf(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const parts: string[] = [];
  for (const piece of text.split(',')) {
    const last = parts.at(-1) ?? '';
    if (last.includes('(') && !last.includes(')')) parts[parts.length - 1] = `${last},${piece}`;
    else parts.push(piece);
  }
  return parts.map((part) => part.trim());
}

function requirementOf(part: string, text: string): NodeSelectorRequirement {
  const [, key = '', word = '', list = ''] = IN_SET.exec(part) ?? [];
  if (key !== '') {
    const values = list.split(',').map((value) => value.trim());
    return { key, operator: word === 'in' ? 'In' : 'NotIn', values };
  }
  const [, equalKey = '', sign = '', value = ''] = EQUAL.exec(part) ?? [];
  if (equalKey !== '') return { key: equalKey, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, not, presentKey = ''] = PRESENT.exec(part) ?? [];
  if (presentKey !== '') return { key: presentKey, operator: not === undefined ? 'Exists' : 'DoesNotExist' };
  throw invalid(
    `--selector: "${part}" in "${text}" is none of KEY=VALUE, KEY!=VALUE, KEY in (VALUE, …), KEY notin (VALUE, …), KEY and !KEY`,
  );
}
