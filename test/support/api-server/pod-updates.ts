/** The fields of a pod's spec that may change, and the server's answers to other changes. */
import { equalJson } from '../../../src/agent/policies/formats/canonical-json.ts';
import type { AnyObject, Draft } from './context.ts';
import type { ServedType } from './served-types.ts';
import { type Cause, invalid } from './status-error.ts';

const POD_UPDATES =
  'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
const FORBIDDEN = 'FieldValueForbidden';

/** Throws why the spec may not become this one. */
export function checkPodUpdate(type: ServedType, before: AnyObject, after: Draft): void {
  const causes = [...updateCauses(before.spec as Draft, (after.spec ?? {}) as Draft)];
  if (causes.length > 0) throw invalid({ type, name: before.metadata.name }, causes);
}

/** Throws why the pod may not get these ephemeral containers: those that are there stay as they are. */
export function checkEphemeralContainers(type: ServedType, before: AnyObject, after: Draft): void {
  const field = 'spec.ephemeralContainers';
  const [formerly, now] = [before, after].map(({ spec }) => (spec.ephemeralContainers ?? []) as Draft[]);
  const others = ['containers', 'initContainers'].flatMap((list) => (before.spec[list] ?? []) as Draft[]);
  const taken = new Set(others.map(({ name }) => String(name)));
  const causes: Cause[] = [];
  for (const [index, { name }] of (now ?? []).entries()) {
    if (taken.has(String(name)))
      causes.push({
        field: `${field}[${index}].name`,
        message: `Duplicate value: "${String(name)}"`,
        reason: 'FieldValueDuplicate',
      });
    taken.add(String(name));
  }
  for (const container of formerly ?? []) {
    const found = now?.find(({ name }) => name === container.name);
    const forbid = (why: string) =>
      causes.push({
        field,
        message: `Forbidden: existing ephemeral containers "${String(container.name)}" may not be ${why}\n`,
        reason: FORBIDDEN,
      });
    if (found === undefined) forbid('removed');
    else if (!equalJson(found, container)) forbid('changed');
  }
  if (causes.length > 0) throw invalid({ type, name: before.metadata.name }, causes);
}

function* updateCauses(before: Draft, after: Draft): Generator<Cause> {
  for (const list of ['containers', 'initContainers']) {
    const [formerly, now] = [before[list] ?? [], after[list] ?? []] as [Draft[], Draft[]];
    if (formerly.length !== now.length) {
      const message = 'Forbidden: pod updates may not add or remove containers';
      yield { field: `spec.${list}`, message, reason: FORBIDDEN };
      return;
    }
  }
  const field = 'spec.activeDeadlineSeconds';
  const [deadline, formerDeadline] = [after.activeDeadlineSeconds, before.activeDeadlineSeconds] as (
    | number
    | undefined
  )[];
  if (deadline !== undefined && formerDeadline !== undefined && deadline > formerDeadline) {
    yield { field, message: `Invalid value: ${deadline}: must be less than or equal to previous value` };
    return;
  }
  if (deadline === undefined && formerDeadline !== undefined)
    yield { field, message: 'Invalid value: null: must not update from a positive integer to nil value' };
  yield* tolerationCauses(before, after);
  yield* gateCauses(before, after);
  const same = munged(before, after);
  if (!equalJson(same, before)) yield { field: 'spec', message: POD_UPDATES, reason: FORBIDDEN };
}

function* tolerationCauses(before: Draft, after: Draft): Generator<Cause> {
  const [formerly, now] = [before.tolerations ?? [], after.tolerations ?? []] as [Draft[], Draft[]];
  const isKept = (toleration: Draft) =>
    now.some((one) => equalJson({ ...one, tolerationSeconds: 0 }, { ...toleration, tolerationSeconds: 0 }));
  if (formerly.every(isKept)) return;
  yield {
    field: 'spec.tolerations',
    message: 'Forbidden: existing toleration can not be modified except its tolerationSeconds',
    reason: FORBIDDEN,
  };
}

function* gateCauses(before: Draft, after: Draft): Generator<Cause> {
  const formerly = ((before.schedulingGates ?? []) as Draft[]).map(({ name }) => String(name));
  for (const [index, { name }] of ((after.schedulingGates ?? []) as Draft[]).entries())
    if (!formerly.includes(String(name)))
      yield {
        field: `spec.schedulingGates[${index}].name`,
        message: "Forbidden: only deletion is allowed, but found new scheduling gate '" + String(name) + "'",
        reason: FORBIDDEN,
      };
}

/** The new spec with what may change as it was. */
function munged(before: Draft, after: Draft): Draft {
  const same: Draft = { ...after };
  for (const name of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) keep(same, before, name);
  const isGraceMended =
    Number(before.terminationGracePeriodSeconds) < 0 && same.terminationGracePeriodSeconds === 1;
  if (isGraceMended) keep(same, before, 'terminationGracePeriodSeconds');
  for (const list of ['containers', 'initContainers'])
    if (same[list] !== undefined)
      same[list] = (same[list] as Draft[]).map((container, index) => ({
        ...container,
        image: (before[list] as Draft[] | undefined)?.[index]?.image as unknown,
      }));
  return same;
}

function keep(after: Draft, before: Draft, member: string): void {
  if (before[member] === undefined) Reflect.deleteProperty(after, member);
  else after[member] = before[member];
}
