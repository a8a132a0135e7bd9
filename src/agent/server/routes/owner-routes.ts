/** What only the owner of the root folder may ask, at the socket in it: what a cluster's API server would otherwise offer. */
import type { ServerResponse } from 'node:http';
import { conditionTaintKey } from '../../policies/eviction-plugins/taints-of-conditions.ts';
import type { Node, Pod } from '../../../types/kubernetes.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { Why } from '../../policies/why/why-pod.ts';
import type { EventChange, RecentEvents } from '../recent-events.ts';
import { type ApplyApi, applyRoute, objectRoutes, type ObjectsApi, refuse } from './apply-routes.ts';
import { answerJSON, beginJSONLines, RequestError, type Route, type RouteRequest } from './route.ts';
import type { NodeApi } from './node-api.ts';
import { type WatchedPods, watchPodsRoute } from './watch-pods.ts';

export interface OwnerApi extends Pick<NodeApi, 'pod'>, WatchedPods, ApplyApi, ObjectsApi {
  readonly events: Pick<RecentEvents, 'list' | 'version' | 'watch'>;
  nodeFacts(): OwnNodeFacts;
  /** The whole object. What it needs of the machine is read when it is asked for. */
  node(): Promise<Node>;
  /**
   * Ends a pod of a manifest until that changes, and removes the manifest if `statelet apply` has written it. Resolves when the end of the pod has
   * begun, with the place of a manifest that stays. Rejects with a `StateletError`.
   */
  deletePod(pod: Pod, gracePeriodSeconds: number | undefined): Promise<string | undefined>;
  /** Resolves when no container of the pod runs any more. */
  podEnded(uid: string): Promise<void>;
  /** Undefined for a pod of which nothing is known. */
  whyPod(namespace: string, name: string): Promise<Why | undefined>;
  whyNode(): Why;
}

export function ownerRoutes(api: OwnerApi): readonly Route[] {
  return [
    {
      path: '/node',
      methods: ['GET'],
      handle: (_, response) => answerJSON(response, nodeObject(api.nodeFacts())),
    },
    {
      path: '/node/object',
      methods: ['GET'],
      handle: async (_, response) => answerJSON(response, await api.node()),
    },
    { path: '/events', methods: ['GET'], handle: (request, response) => events(api, request, response) },
    { path: '/why', methods: ['GET'], handle: (_, response) => answerJSON(response, api.whyNode()) },
    {
      path: '/why/:namespace/:pod',
      methods: ['GET'],
      handle: (request, response) => why(api, request, response),
    },
    watchPodsRoute(api),
    applyRoute(api),
    ...objectRoutes(api),
    {
      path: '/pods/:namespace/:pod',
      methods: ['DELETE'],
      handle: (request, response) => deletePod(api, request, response),
    },
  ];
}

function nodeObject(facts: OwnNodeFacts): object {
  const { name, labels, capacity, allocatable, conditions, pluginConditions = [], os, arch } = facts;
  const holding = [...conditions, ...pluginConditions.map(({ name }) => conditionTaintKey(name))];
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name, labels },
    status: {
      capacity,
      allocatable,
      conditions: holding.map((type) => ({ type, status: 'True' })),
      nodeInfo: { operatingSystem: os, architecture: arch },
    },
  };
}

/** `watch=true`: events from now on follow, one change in a line. `resourceVersion`: only those after that version. */
function events({ events: recent }: OwnerApi, { query }: RouteRequest, response: ServerResponse): void {
  const asked = new URLSearchParams(query);
  const after = wholeNumber(asked, 'resourceVersion') ?? 0;
  if (asked.get('watch') === 'true') {
    watchEvents(recent, after, response);
    return;
  }
  const metadata = { resourceVersion: String(recent.version) };
  answerJSON(response, { kind: 'EventList', apiVersion: 'v1', metadata, items: recent.list(after) });
}

/** A client that reads slower than events come loses the connection when so much waits for it. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;

function watchEvents(recent: OwnerApi['events'], after: number, response: ServerResponse): void {
  const tell = ({ type, event }: EventChange) => {
    response.write(`${JSON.stringify({ type, object: event })}\n`);
    if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
  };
  beginJSONLines(response);
  for (const event of recent.list(after)) tell({ type: 'ADDED', event });
  response.once('close', recent.watch(tell));
}

async function why(api: OwnerApi, { params }: RouteRequest, response: ServerResponse): Promise<void> {
  const { namespace = '', pod: name = '' } = params;
  const found = await api.whyPod(namespace, name);
  if (found === undefined) throw new RequestError(404, `nothing is known of a pod ${namespace}/${name}\n`);
  answerJSON(response, found);
}

async function deletePod(api: OwnerApi, request: RouteRequest, response: ServerResponse): Promise<void> {
  const { namespace = '', pod: name = '' } = request.params;
  const asked = new URLSearchParams(request.query);
  const gracePeriodSeconds = wholeNumber(asked, 'gracePeriodSeconds');
  const { pod } = api.pod(namespace, name) ?? {};
  if (pod === undefined) throw new RequestError(404, `there is no pod ${namespace}/${name}\n`);
  const { uid } = pod.metadata;
  const manifest = await api.deletePod(pod, gracePeriodSeconds).catch(refuse);
  if (asked.get('wait') === 'true') await api.podEnded(uid);
  answerJSON(response, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Success',
    details: { name, kind: 'pods', uid },
    manifest,
  });
}

/** Undefined where it is not given. */
function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (/^\d+$/u.test(text) && Number.isSafeInteger(value)) return value;
  throw new RequestError(400, `${name}: "${text}" is not a whole number from 0 up\n`);
}
