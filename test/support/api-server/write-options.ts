/** Options of requests that write, and the server's answers to wrong ones. */
import type { Draft } from './context.ts';
import type { ResourceRequest, Verb } from './requests.ts';
import { type Cause, invalid } from './status-error.ts';

export type Strictness = 'Strict' | 'Warn' | 'Ignore';

const KINDS: Partial<Record<Verb, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
};
const STRICTNESSES = ['', 'Ignore', 'Strict', 'Warn'];
const POLICIES = ['Foreground', 'Background', 'Orphan'];
const MANAGER_BYTES_MAX = 128;
const quoted = (values: readonly string[]): string => values.map((value) => `"${value}"`).join(', ');

/** Throws what is wrong with the options of a request that creates or changes something. */
export function checkWrite({ query, verb, type }: ResourceRequest, isApply: boolean): void {
  const causes = [...writeCauses(query, verb === 'patch' ? isApply : undefined)];
  if (causes.length > 0)
    throw invalid({ type: { ...type, group: 'meta.k8s.io', kind: KINDS[verb] ?? '' }, name: '' }, causes);
}

/** How strictly the fields of a sent object are checked. */
export function strictnessOf({ query }: ResourceRequest): Strictness {
  const asked = query.get('fieldValidation') ?? '';
  return asked === '' ? 'Warn' : (asked as Strictness);
}

function* writeCauses(query: URLSearchParams, isApply: boolean | undefined): Generator<Cause> {
  const manager = query.get('fieldManager') ?? '';
  if (isApply === true && manager === '')
    yield {
      field: 'fieldManager',
      message: 'Required value: is required for apply patch',
      reason: 'FieldValueRequired',
    };
  if (isApply === false && query.has('force'))
    yield {
      field: 'force',
      message: 'Forbidden: may not be specified for non-apply patch',
      reason: 'FieldValueForbidden',
    };
  if (Buffer.byteLength(manager) > MANAGER_BYTES_MAX)
    yield {
      field: 'fieldManager',
      message: `Too long: may not be more than ${MANAGER_BYTES_MAX} bytes`,
      reason: 'FieldValueTooLong',
    };
  yield* dryRunCauses(query.getAll('dryRun'));
  const strictness = query.get('fieldValidation') ?? '';
  if (!STRICTNESSES.includes(strictness))
    yield {
      field: 'fieldValidation',
      message: `Unsupported value: "${strictness}": supported values: ${quoted(STRICTNESSES)}`,
      reason: 'FieldValueNotSupported',
    };
}

function* dryRunCauses(dryRun: readonly string[]): Generator<Cause> {
  if (dryRun.some((one) => one !== 'All' && one !== ''))
    yield {
      field: 'dryRun',
      message: `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`,
      reason: 'FieldValueNotSupported',
    };
}

/** Throws what is wrong with the options of a deletion. */
export function checkDeletion({ type, query }: ResourceRequest, sent: Draft): void {
  const causes = [
    ...deletionCauses(sent),
    ...dryRunCauses([...query.getAll('dryRun'), ...((sent.dryRun ?? []) as string[])]),
  ];
  if (causes.length > 0)
    throw invalid({ type: { ...type, group: 'meta.k8s.io', kind: 'DeleteOptions' }, name: '' }, causes);
}

function* deletionCauses({ propagationPolicy: policy, orphanDependents }: Draft): Generator<Cause> {
  if (policy !== undefined && orphanDependents !== undefined)
    yield {
      field: 'propagationPolicy',
      message: `Invalid value: "${String(policy)}": orphanDependents and deletionPropagation cannot be both set`,
    };
  if (policy !== undefined && !POLICIES.includes(String(policy)))
    yield {
      field: 'propagationPolicy',
      message: `Unsupported value: "${String(policy)}": supported values: ${quoted([...POLICIES, 'nil'])}`,
      reason: 'FieldValueNotSupported',
    };
}
