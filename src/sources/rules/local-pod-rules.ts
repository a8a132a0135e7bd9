/** The rules for ordinary pods of manifests: they run without an API server, so that they have nothing of it. */
import { priorityProblem } from '../defaults/priority-defaults.ts';
import type { ManifestProblem } from '../source.ts';
import { apiReferenceProblems } from './api-references.ts';
import { child, isTree, problemAt } from './place.ts';

/** Tolerates a pod that breaks the schema. */
export function localPodProblems(pod: unknown): ManifestProblem[] {
  return [...apiReferenceProblems(pod, 'pods without an API server'), ...priorityProblems(pod)];
}

function priorityProblems(pod: unknown): ManifestProblem[] {
  if (!isTree(pod)) return [];
  return child({ path: '', value: pod }, 'spec').flatMap((spec) => {
    const problem = priorityProblem(spec.value);
    return problem === undefined ? [] : [problemAt(spec, problem.field, problem.message)];
  });
}
