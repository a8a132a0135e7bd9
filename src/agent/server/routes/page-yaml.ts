/** A file of its own, so that yaml is loaded only for requests that need it: by `import('yaml')` it has no named exports in the bundle. */
import { stringify } from 'yaml';

/** With sorted names, as the API machinery writes YAML. */
export function pageYAML(object: object): string {
  return stringify(object, { sortMapEntries: true, indentSeq: false, version: '1.1' });
}
