/** The options of a list or a watch beside its selectors, and the server's answers to options that do not fit together. */
import type { ServedType } from './served-types.ts';
import { badRequest, type Cause, invalid } from './status-error.ts';

export interface ListOptions {
  /** 0: no limit. */
  readonly limit: number;
  /** Empty: from the beginning. */
  readonly continues: string;
  /** Empty: the latest. */
  readonly version: string;
  readonly match: string;
}

const MATCHES = ['Exact', 'NotOlderThan', ''];
const OPTIONS_KIND = { group: 'meta.k8s.io', kind: 'ListOptions' };

export function listOptions(query: URLSearchParams, type: ServedType, isWatch: boolean): ListOptions {
  const limit = wholeNumber(query.get('limit'));
  wholeNumber(query.get('timeoutSeconds'));
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const cause = isWatch ? whyNoWatch(query, match) : whyNoList(query, version, match);
  if (cause !== undefined) throw invalid({ type: { ...type, ...OPTIONS_KIND }, name: '' }, [cause]);
  if (!/^\d*$/u.test(version) && !isWatch)
    throw badRequest(`invalid resource version: ${notParsed(version)}`);
  return { limit: Math.max(0, limit), continues: query.get('continue') ?? '', version, match };
}

function whyNoList(query: URLSearchParams, version: string, match: string): Cause | undefined {
  const at = 'resourceVersionMatch';
  const refused = (field: string, message: string): Cause => ({
    field,
    message: `Forbidden: ${message}`,
    reason: 'FieldValueForbidden',
  });
  if (query.has('sendInitialEvents'))
    return refused('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  if (match === '') return undefined;
  if (version === '') return refused(at, `${at} is forbidden unless resourceVersion is provided`);
  if ((query.get('continue') ?? '') !== '')
    return refused(at, `${at} is forbidden when continue is provided`);
  if (!MATCHES.includes(match))
    return {
      field: at,
      message: `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`,
      reason: 'FieldValueNotSupported',
    };
  if (match === 'Exact' && version === '0')
    return refused(at, `${at} "exact" is forbidden for resourceVersion "0"`);
  return undefined;
}

function whyNoWatch(query: URLSearchParams, match: string): Cause | undefined {
  const field = 'resourceVersionMatch';
  const reason = 'FieldValueForbidden';
  if (query.has('sendInitialEvents'))
    return match === 'NotOlderThan'
      ? undefined
      : { field, reason, message: `Forbidden: sendInitialEvents requires setting ${field} to NotOlderThan` };
  return match === ''
    ? undefined
    : {
        field,
        reason,
        message: `Forbidden: ${field} is forbidden for watch unless sendInitialEvents is provided`,
      };
}

export const notParsed = (version: string): string =>
  `resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": invalid syntax`;

function wholeNumber(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^[+-]?\d+$/u.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}
