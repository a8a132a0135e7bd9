/** Validates the pod of a manifest: schema, rules and references. */
import { validate } from '../../../generated/pod-validator.js';
import { volumeProblems } from '../../policies/volumes/volume-rules.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { priorityProblem, withDefaults } from '../defaults/pod-defaults.ts';
import type { ManifestProblem, ManifestSource } from '../source.ts';
import { apiReferenceProblems } from './api-pod-rules.ts';
import { child, isTree, problemAt } from './place.ts';
import { ruleProblems } from './pod-rules.ts';
import { resourceProblems } from './resource-rules.ts';
import { schemaProblems } from './schema-problems.ts';

/** Further errors get no details: to search a suggestion for each of a thousand unknown fields takes longer than to read them. */
const ERRORS_DESCRIBED_MAX = 50;

/** Whose pod it is. `nodeName`: it will be appended to the name of a static pod. */
interface PodOrigin {
  readonly source: ManifestSource;
  readonly nodeName: string;
}

/** All problems of a pod of a file or URL: schema, rules between fields, references. A null member is a problem. */
export function podProblems(pod: unknown, { source, nodeName }: PodOrigin): ManifestProblem[] {
  const schemaErrors = validate(pod) ? [] : (validate.errors ?? []);
  return [
    ...schemaProblems(schemaErrors.slice(0, ERRORS_DESCRIBED_MAX)),
    ...schemaErrors.slice(ERRORS_DESCRIBED_MAX).map(() => ({ message: 'does not fit the schema' })),
    ...ruleProblems(pod, source === 'local' ? undefined : nodeName),
    ...(schemaErrors.length === 0
      ? [...volumeRuleProblems(pod as Pod), ...resourceRuleProblems(pod as Pod)]
      : []),
    ...(source === 'local' ? localPodProblems(pod) : apiReferenceProblems(pod, 'static pods')),
  ];
}

function volumeRuleProblems({ spec }: Pod): ManifestProblem[] {
  return volumeProblems(spec).map(({ path, message }) => ({ field: path, message }));
}

function resourceRuleProblems({ spec }: Pod): readonly ManifestProblem[] {
  return resourceProblems(withDefaults(spec));
}

/** The kinds of objects that manifests may have beside their pods. */
const OF_MANIFESTS = ['configmaps', 'secrets', 'persistentvolumeclaims'];

/** The rules for ordinary pods of manifests, which run without an API server. Tolerates a pod that breaks the schema. */
function localPodProblems(pod: unknown): ManifestProblem[] {
  return [...apiReferenceProblems(pod, 'pods without an API server', OF_MANIFESTS), ...priorityProblems(pod)];
}

function priorityProblems(pod: unknown): ManifestProblem[] {
  if (!isTree(pod)) return [];
  return child({ path: '', value: pod }, 'spec').flatMap((spec) => {
    const problem = priorityProblem(spec.value);
    return problem === undefined ? [] : [problemAt(spec, problem.field, problem.message)];
  });
}
