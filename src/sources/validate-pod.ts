/** Whether what was read is a pod that this node could run as a static one. */
import { volumeProblems } from '../policies/volume-rules.ts';
import type { Pod } from '../types/kubernetes.ts';
import { validate } from '../generated/pod-validator.js';
import { apiReferenceProblems } from './api-references.ts';
import { withDefaults } from './pod-defaults.ts';
import { ruleProblems } from './pod-rules.ts';
import { resourceProblems } from './resource-rules.ts';
import { schemaProblems } from './schema-problems.ts';
import type { ManifestProblem } from './source.ts';

/** All that is wrong with a pod of a file or URL: schema, rules between fields, references. Null members count as wrong. */
export function podProblems(pod: unknown, nodeName: string): ManifestProblem[] {
  const schemaErrors = validate(pod) ? [] : (validate.errors ?? []);
  return [
    ...schemaProblems(schemaErrors),
    ...ruleProblems(pod, nodeName),
    ...(schemaErrors.length === 0
      ? [...volumeRuleProblems(pod as Pod), ...resourceRuleProblems(pod as Pod)]
      : []),
    ...apiReferenceProblems(pod),
  ];
}

function volumeRuleProblems({ spec }: Pod): ManifestProblem[] {
  return volumeProblems(spec).map(({ path, message }) => ({ field: path, message }));
}

function resourceRuleProblems({ spec }: Pod): readonly ManifestProblem[] {
  return resourceProblems(withDefaults(spec));
}
