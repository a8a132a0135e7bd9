/** Selectors of fields as the API server takes them for pods: `status.phase=Running,metadata.name!=web`. */
import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';

/** The fields by which the API server selects pods. */
const FIELDS: Readonly<Record<string, (pod: Pod) => string | undefined>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace,
  'spec.nodeName': ({ spec }) => spec.nodeName,
  'spec.restartPolicy': ({ spec }) => spec.restartPolicy ?? 'Always',
  'spec.schedulerName': ({ spec }) => spec.schedulerName,
  'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName,
  'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
  'status.phase': ({ status }) => status?.phase,
  'status.podIP': ({ status }) => status?.podIP,
  'status.nominatedNodeName': () => undefined,
};

/** Throws `InvalidArgument`. Without a text all are selected. */
export function fieldSelector(text = ''): (pod: Pod) => boolean {
  const terms = text === '' ? [] : text.split(',').map((term) => termOf(term.trim()));
  return (pod) => terms.every((isMet) => isMet(pod));
}

function termOf(term: string): (pod: Pod) => boolean {
  const [, field = '', sign = '', value = ''] = /^([\w.]+)(==?|!=)(.*)$/su.exec(term) ?? [];
  if (sign === '') throw invalid(`"${term}" is neither FIELD=VALUE nor FIELD!=VALUE`);
  const read = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
  if (read === undefined)
    throw invalid(`pods cannot be selected by "${field}", but by ${Object.keys(FIELDS).join(', ')}`);
  return (pod) => ((read(pod) ?? '') === value) === (sign !== '!=');
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', `--field-selector: ${message}`);
}
