/** Selectors of labels and fields, as lists, watches, budgets and services have them. */
import type { StoredObject } from '../../../src/simulation/api/api-store.ts';
import { matches as matchesFields } from '../../../src/simulation/api/field-selectors.ts';
import { type Labels, parsedSelector } from './label-selectors.ts';
import { isEventView, storedSelector } from './event-views.ts';
import { type ServedType, storeKey } from './served-types.ts';
import { badRequest } from './status-error.ts';

export type ObjectTest = (object: StoredObject) => boolean;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

const VIEWED_EVENTS = 'events.events.k8s.io';

/** The fields beside names by which objects of a kind can be selected. Kinds that are not listed here refuse in other words. */
const SELECTABLE: Readonly<Record<string, readonly string[]>> = {
  pods: [
    ...['nodeName', 'restartPolicy', 'schedulerName', 'serviceAccountName', 'hostNetwork'].map(
      (name) => `spec.${name}`,
    ),
    ...['phase', 'podIP', 'podIPs', 'nominatedNodeName'].map((name) => `status.${name}`),
    'spec.host',
  ],
  nodes: ['spec.unschedulable'],
  namespaces: ['status.phase'],
  secrets: ['type'],
  services: ['spec.clusterIP', 'spec.type'],
  events: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (name) => `involvedObject.${name}`,
    ),
    ...['reason', 'reportingComponent', 'source', 'type'],
  ],
  [VIEWED_EVENTS]: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (name) => `regarding.${name}`,
    ),
    ...['reason', 'reportingController', 'type'],
  ],
  'certificatesigningrequests.certificates.k8s.io': ['spec.signerName'],
  'resourceslices.resource.k8s.io': ['spec.nodeName', 'spec.driver'],
  replicationcontrollers: ['status.replicas'],
  'jobs.batch': ['status.successful'],
};

/** Applies the two selectors in the query of a list or watch. Throws the server's answer to one that it refuses. */
export function selected(
  labelSelector: string | null,
  fieldSelector: string | null,
  type: ServedType,
): ObjectTest {
  const requirements = parsedSelector(labelSelector ?? '');
  const asked = fieldSelector ?? '';
  for (const term of asked.split(',').filter(Boolean)) checkField(term, type);
  const fields = storedSelector(asked, type);
  return (object) =>
    requirements.every((holds) => holds(object.metadata.labels ?? {})) && matchesFields(object, fields);
}

function checkField(term: string, type: ServedType): void {
  const [, field] = /^([^!=]*)(?:!=|==?)/u.exec(term) ?? [];
  if (field === undefined) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const key = isEventView(type) ? VIEWED_EVENTS : storeKey(type);
  const more = SELECTABLE[key];
  if (field === '' || field === 'metadata.name' || (field === 'metadata.namespace' && type.namespaced))
    return;
  if (more?.includes(field) === true) return;
  const why =
    more === undefined
      ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
      : key === 'jobs.batch'
        ? `field label "${field}" not supported for Job`
        : `field label not supported: ${field}`;
  throw badRequest(why);
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
