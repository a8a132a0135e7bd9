/** Field selectors of lists and watches: a comma between conditions such as `spec.nodeName=node-1`. */
import type { ApiObject } from '../../agent/cluster/service/api-server.ts';

export function matches(object: ApiObject, selector = ''): boolean {
  if (selector === '') return true;
  return selector.split(',').every((term) => {
    const [, path = '', operator, wanted = ''] = /^([^!=]*)(!=|==?)(.*)$/.exec(term) ?? [];
    return (fieldOf(object, path) === wanted) === (operator !== '!=');
  });
}

/** The name, if the selector asks for the one object of that name. */
export function nameSelected(selector = ''): string | undefined {
  return /^metadata\.name=([^,]+)$/.exec(selector)?.[1];
}

function fieldOf(object: ApiObject, path: string): string {
  let value: unknown = object;
  for (const name of path.split('.'))
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}
