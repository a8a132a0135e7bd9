/** OpenAPI, as far as kubectl asks: which kinds there are, and that the server checks objects and takes dry runs. */
import { apiVersionOf, groupVersions, SERVED_TYPES, type ServedType } from './served-types.ts';

export interface ServedSchema {
  readonly body: string | Buffer;
  readonly contentType: string;
}

export function openApi(path: string, accept: string): ServedSchema | undefined {
  const json = (body: object): ServedSchema => ({
    body: JSON.stringify(body),
    contentType: 'application/json',
  });
  if (path === '/openapi/v3') {
    const paths = groupVersions().map(([group, version]) => {
      const root = rootOf(group, version);
      return [root, { serverRelativeURL: `/openapi/v3/${root}?hash=double` }] as const;
    });
    return json({ paths: Object.fromEntries(paths) });
  }
  if (path.startsWith('/openapi/v3/')) {
    const found = groupVersions().find(
      ([group, version]) => path === `/openapi/v3/${rootOf(group, version)}`,
    );
    return found && json(document3(found[2]));
  }
  if (path !== '/openapi/v2') return undefined;
  if (accept.includes('protobuf')) return { body: document2(), contentType: PROTOBUF };
  return json({ swagger: '2.0', info: INFO, paths: {}, definitions: definitions() });
}

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const INFO = { title: 'Kubernetes', version: 'v1.36.2' };

function definitions(): Record<string, object> {
  return Object.fromEntries(SERVED_TYPES.map((type) => [schemaName(type), schemaOf(type)]));
}

/** In protocol buffers, the only form that older versions of kubectl read: all kinds, each an object with any members. */
function document2(): Buffer {
  const schemas = SERVED_TYPES.map((type) => {
    const { group, version, kind } = type;
    const yaml = `- group: "${group}"\n  kind: "${kind}"\n  version: "${version}"\n`;
    const extension = [...field(1, 'x-kubernetes-group-version-kind'), ...field(2, field(2, yaml))];
    const schema = [...field(22, field(1, 'object')), ...field(31, extension)];
    return field(1, [...field(1, schemaName(type)), ...field(2, schema)]);
  });
  const info = [...field(1, INFO.title), ...field(2, INFO.version)];
  return Buffer.from([...field(1, '2.0'), ...field(2, info), ...field(8, []), ...field(9, schemas.flat())]);
}

/** A field of a message that has a length. */
function field(number: number, value: string | readonly number[]): number[] {
  const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value;
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
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
    info: INFO,
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
