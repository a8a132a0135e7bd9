/**
 * What the agent relies on in a pod of the API server: types, what is required, names, amounts and paths. All else the server has
 * validated, perhaps by the rules of a newer Kubernetes: unknown fields and unknown choices are no problem.
 */
import { validate } from '../../generated/pod-validator.js';
import type { SchemaError } from '../../types/errors.ts';
import type { ManifestProblem } from '../source.ts';
import { child, isTree, items, pathOf, type Place, problemAt, repeated } from './place.ts';
import { kindOf, schemaProblems } from './schema-problems.ts';

const PROBLEMS_SHOWN_MAX = 10;

const IDENTITY = ['name', 'namespace', 'uid'];
/** They become names of files and of containers. */
const NAMES =
  /^\/metadata\/(name|namespace|uid)$|^\/spec\/(volumes|containers|initContainers|ephemeralContainers)\/\d+\/name$/;
const AMOUNTS = /\/(limits|requests|overhead)\/[^/]+$|\/(sizeLimit|divisor)$/;
const TIMES = /^\/metadata\/(creationTimestamp|deletionTimestamp)$/;
const PATHS = /^\/spec\/.*\/(path|subPath|subPathExpr)$/;

/** The first problems of a pod of the API server. Members that are null must have been left out. Never throws. */
export function apiPodProblems(pod: unknown): readonly ManifestProblem[] {
  if (!isTree(pod)) return [{ message: `must be a pod (got ${kindOf(pod)})` }];
  const errors = validate(pod) ? [] : (validate.errors ?? []);
  const root: Place = { path: '', value: pod };
  return [
    ...missingIdentity(root),
    ...schemaProblems(errors.filter(matters).slice(0, PROBLEMS_SHOWN_MAX)),
    ...repeatedNames(root),
  ].slice(0, PROBLEMS_SHOWN_MAX);
}

function matters({ keyword, instancePath, propertyName }: SchemaError): boolean {
  if (propertyName !== undefined) return false;
  if (keyword === 'type' || keyword === 'required') return true;
  if (keyword === 'minItems') return instancePath === '/spec/containers';
  if (keyword !== 'pattern') return false;
  return [NAMES, AMOUNTS, TIMES, PATHS].some((paths) => paths.test(instancePath));
}

function missingIdentity(root: Place): readonly ManifestProblem[] {
  const [metadata] = child(root, 'metadata');
  if (!metadata) return [{ field: pathOf(root, 'metadata'), message: 'is required' }];
  return IDENTITY.filter((field) => metadata.value[field] === undefined).map((field) =>
    problemAt(metadata, field, 'is required'),
  );
}

function repeatedNames(root: Place): readonly ManifestProblem[] {
  return child(root, 'spec').flatMap((spec) => {
    const lists = ['initContainers', 'containers', 'ephemeralContainers'];
    const containers = lists.flatMap((list) => items(spec, list));
    return [...repeated(containers, 'name'), ...repeated(items(spec, 'volumes'), 'name')];
  });
}
