/** `/statusz` and `/flagz`, the pages on which a component of Kubernetes describes itself. All methods are answered alike. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { KUBERNETES_VERSION } from '../../policies/node/node-software.ts';
import {
  flagsObject,
  flagsText,
  pageFormat,
  refusalType,
  type StatusFacts,
  statusObject,
  statusText,
} from '../../policies/server/page-format.ts';
import type { Clock } from '../../../types/clock.ts';
import { ownVersion } from '../../../version.ts';
import { answer, type Route } from './route.ts';
import type { NodeApi } from './node-api.ts';

interface Page {
  readonly name: 'statusz' | 'flagz';
  readonly kind: 'Statusz' | 'Flagz';
  readonly text: () => string;
  readonly object: (apiVersion: string) => object;
}

const PATHS = ['/configz', '/debug', '/flagz', '/healthz', '/metrics'];

export function statusPageRoutes(api: Pick<NodeApi, 'flags'>, clock: Pick<Clock, 'now'>): readonly Route[] {
  const startedAt = clock.now() - process.uptime() * 1000;
  const facts = (): StatusFacts => ({
    startedAt,
    now: clock.now(),
    binaryVersion: ownVersion(),
    emulationVersion: KUBERNETES_VERSION,
    platform: `node ${process.version}`,
    paths: PATHS,
  });
  return [
    route({
      name: 'statusz',
      kind: 'Statusz',
      text: () => statusText(facts()),
      object: (apiVersion) => statusObject(facts(), apiVersion),
    }),
    route({
      name: 'flagz',
      kind: 'Flagz',
      text: () => flagsText(api.flags()),
      object: (apiVersion) => flagsObject(api.flags(), apiVersion),
    }),
  ];
}

function route(page: Page): Route {
  return { path: `/${page.name}`, handle: ({ raw }, response) => serve(page, raw, response) };
}

async function serve(page: Page, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // As the kubelet: of several headers, the first one counts.
  const accept = request.headersDistinct.accept?.[0] ?? '';
  const format = pageFormat(accept, page.kind);
  if (format === undefined) {
    const type = refusalType(accept);
    answer(response, 406, await written(REFUSAL, type), { 'Content-Type': `application/${type}` });
    return;
  }
  if (format.type === 'text') {
    answer(response, 200, page.text());
    return;
  }
  const { type, apiVersion, version } = format;
  answer(response, 200, await written(page.object(apiVersion), type), {
    'Content-Type': `application/${type};g=config.k8s.io;v=${version};as=${page.kind}`,
    ...(version === 'v1alpha1' && { Warning: deprecation(page) }),
  });
}

function deprecation({ name }: Page): string {
  return `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`;
}

const REFUSAL = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
  reason: 'NotAcceptable',
  code: 406,
};

/** The YAML library is loaded only for requests of YAML. */
async function written(object: object, type: 'json' | 'yaml'): Promise<string> {
  if (type === 'json') return JSON.stringify(object, undefined, 2);
  const { pageYAML } = await import('./page-yaml.ts');
  return pageYAML(object);
}
