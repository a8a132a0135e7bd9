/** OpenAPI, as far as kubectl asks: which kinds there are, and that the server checks objects and takes dry runs. */
import { apiVersionOf, GROUP_VERSIONS, type ServedType } from './served-types.ts';

export interface ServedSchema {
  readonly body: string | Buffer;
  readonly contentType: string;
}

export function openApi(path: string): ServedSchema | undefined {
  const json = (body: object): ServedSchema => ({
    body: JSON.stringify(body),
    contentType: 'application/json',
  });
  if (path === '/openapi/v3') {
    const paths = GROUP_VERSIONS.map(([group, version]) => {
      const root = rootOf(group, version);
      return [root, { serverRelativeURL: `/openapi/v3/${root}?hash=double` }] as const;
    });
    return json({ paths: Object.fromEntries(paths) });
  }
  if (path.startsWith('/openapi/v3/')) {
    const found = GROUP_VERSIONS.find(([group, version]) => path === `/openapi/v3/${rootOf(group, version)}`);
    return found && json(document3(found[2]));
  }
  if (path !== '/openapi/v2') return undefined;
  return json({
    swagger: '2.0',
    info: { title: 'Kubernetes', version: 'v1.36.2' },
    paths: {},
    definitions: {},
  });
}

const rootOf = (group: string, version: string): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

const parameter = (name: string) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } });

function document3(types: readonly ServedType[]): object {
  const paths = types.map((type) => {
    const { group, version, kind, plural, namespaced } = type;
    const root = `/${rootOf(group, version)}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}`;
    const gvk = { 'x-kubernetes-group-version-kind': { group, version, kind } };
    const write = (action: string) => ({
      parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map(parameter),
      responses: {},
      'x-kubernetes-action': action,
      ...gvk,
    });
    return [
      [root, { post: write('post') }],
      [`${root}/{name}`, { patch: write('patch'), put: write('put') }],
    ] as const;
  });
  const schemas = types.map((type) => [schemaName(type), schemaOf(type)] as const);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.2' },
    paths: Object.fromEntries(paths.flat()),
    components: { schemas: Object.fromEntries(schemas) },
  };
}

function schemaName(type: ServedType): string {
  return `io.k8s.api.${type.group === '' ? 'core' : (type.group.split('.')[0] ?? '')}.${type.version}.${type.kind}`;
}

function schemaOf(type: ServedType): object {
  const { group, version, kind } = type;
  return {
    type: 'object',
    description: `${kind} of ${apiVersionOf(type)}`,
    'x-kubernetes-group-version-kind': [{ group, version, kind }],
  };
}
