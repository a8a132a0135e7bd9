/** Apart from `pods.ts`, so that the bundle loads yaml only for this output: by `import('yaml')` it has no named exports there. */
import { stringify } from 'yaml';

export function toYAML(value: unknown): string {
  return stringify(value);
}
