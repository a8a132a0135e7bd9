/** Loaded only where YAML is asked for. */
import { stringify } from 'yaml';

export function toYaml(value: object): string {
  return stringify(value);
}
