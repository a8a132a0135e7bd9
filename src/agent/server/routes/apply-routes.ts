/** `PUT` of `/manifests`: what `statelet apply` asks for, an object at a time. */
import type { IncomingMessage } from 'node:http';
import { REDACTED } from '../../policies/formats/secret-fields.ts';
import { errorKind, errorMessage } from '../../../types/errors.ts';
import { answerJSON, RequestError, type Route, type RouteRequest } from './route.ts';

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface AppliedObject extends ObjectName {
  /** Equal for equal contents in one place. Of a pod it is the UID. */
  readonly version: string;
  readonly outcome: 'created' | 'configured' | 'unchanged';
  /** Where it is written. */
  readonly file: string;
}

export interface ApplyApi {
  /** How much a manifest may have. */
  readonly manifestBytesMax: number;
  /** Writes the manifest of one object where the daemon reads it, and waits until it has. Rejects with a `StateletError`. */
  applyManifest(content: Buffer, options: { readonly dryRun: boolean }): Promise<AppliedObject>;
}

export interface ObjectsApi {
  /** What pods of manifests may refer to. */
  objects(): Iterable<ObjectName & { readonly object: object }>;
  /** Removes what `apply` has written of it. Rejects with a `StateletError`, also where `apply` has not written its manifest. */
  deleteObject(object: ObjectName): Promise<void>;
}

export function objectRoutes(api: ObjectsApi): readonly Route[] {
  return [
    {
      path: '/objects',
      methods: ['GET'],
      handle: (_, response) => answerJSON(response, { items: Array.from(api.objects(), shownObject) }),
    },
    {
      path: '/objects/:kind/:namespace/:name',
      methods: ['DELETE'],
      handle: async ({ params: { kind = '', namespace = '', name = '' } }, response) => {
        await api.deleteObject({ kind, namespace, name }).catch(refuse);
        answerJSON(response, { kind: 'Status', apiVersion: 'v1', status: 'Success' });
      },
    },
  ];
}

/** A Secret without its values: they stay where the person has put them. */
function shownObject({ kind, object }: ObjectName & { readonly object: object }): object {
  const shown = { apiVersion: 'v1', ...object, kind };
  if (kind !== 'Secret' || !('data' in object)) return shown;
  const keys = Object.keys(object.data as object);
  return { ...shown, data: Object.fromEntries(keys.map((key) => [key, REDACTED])), stringData: undefined };
}

/** `dryRun=true`: says what would be done. */
export function applyRoute(api: ApplyApi): Route {
  return {
    path: '/manifests',
    methods: ['PUT'],
    handle: async ({ raw, query }: RouteRequest, response) => {
      const dryRun = new URLSearchParams(query).get('dryRun') === 'true';
      const content = await bodyOf(raw, api.manifestBytesMax);
      answerJSON(response, await api.applyManifest(content, { dryRun }).catch(refuse));
    },
  };
}

async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > bytesMax) throw new RequestError(413, `a manifest may have ${bytesMax} bytes\n`);
  }
  return Buffer.concat(chunks, length);
}

const STATUSES: Partial<Record<string, number>> = {
  NotFound: 404,
  InvalidArgument: 422,
  FailedPrecondition: 409,
  Unavailable: 503,
};

/** With the words of an error that is not a defect. */
export function refuse(error: unknown): never {
  throw new RequestError(STATUSES[errorKind(error)] ?? 500, `${errorMessage(error)}\n`);
}
