/** Whether a field of KubeletConfiguration asks for anything else than what holds without it. */
import { parseDuration } from '../../policies/formats/duration.ts';
import { CONFIGURATION_DEFAULTS, ZERO_MEANS_NOT_GIVEN } from '../configuration-defaults.ts';
import { memberOf } from '../setting.ts';

/** `path` has dots where the field is in an object. */
export function isFieldDefault(path: string, value: unknown): boolean {
  const byDefault = memberOf(CONFIGURATION_DEFAULTS, path);
  const isUnset = ZERO_MEANS_NOT_GIVEN.has(path) && (value === 0 || value === false);
  return isUnset || isSame(value, byDefault);
}

/** As with the kubelet, an empty text and a duration of 0 are not given, and an object may have members of the default alone. */
function isSame(value: unknown, byDefault: unknown): boolean {
  if (typeof value === 'string') {
    const ms = parseDuration(value);
    return (
      value === '' || value === byDefault || ms === 0 || (ms !== undefined && ms === durationOf(byDefault))
    );
  }
  if (Array.isArray(value)) return JSON.stringify(value) === JSON.stringify(byDefault ?? []);
  if (typeof value === 'object' && value !== null) {
    const others = (byDefault ?? {}) as Record<string, unknown>;
    return Object.entries(value).every(([name, member]) => isSame(member, others[name]));
  }
  if (value === 0) return byDefault === undefined || byDefault === 0 || durationOf(byDefault) !== undefined;
  return value === (byDefault ?? false);
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}
