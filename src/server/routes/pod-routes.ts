/** `/pods` and `/runningpods/`, as the kubelet serves them. */
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { goJSON } from '../../policies/formats/go-text.ts';
import { asGoWrites, runningPods } from '../../policies/server/running-pods.ts';
import type { PodStatus } from '../../types/kubernetes.ts';
import { answer, JSON_TYPE } from './answers.ts';
import type { NodeApi } from './node-api.ts';
import type { Route } from './route.ts';

export function podRoutes(api: Pick<NodeApi, 'desiredPods' | 'runtimePods'>): readonly Route[] {
  return [
    {
      path: '/pods',
      methods: ['GET'],
      handle: (_request, response) => answerPods(response, api.desiredPods()),
    },
    {
      path: '/runningpods/',
      methods: ['GET'],
      handle: (_request, response) => answerPods(response, runningPods(api.runtimePods())),
    },
  ];
}

interface ServedObject {
  readonly metadata: object;
  readonly spec: object;
  readonly status?: PodStatus;
}

/** How many pods are written in one turn of the event loop. */
const PODS_A_TURN = 25;

/** Items of a list do not repeat kind and version. The list is taken at once, so that all pods are of the same moment. */
async function answerPods(response: ServerResponse, pods: Iterable<ServedObject>): Promise<void> {
  const items: string[] = [];
  for (const pod of [...pods]) {
    if (items.length > 0 && items.length % PODS_A_TURN === 0) await nextTurn();
    items.push(itemText(pod));
  }
  // The kubelet's list without pods has null.
  const list = items.length === 0 ? 'null' : `[${items.join()}]`;
  const body = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":${list}}\n`;
  answer(response, 200, body, { 'Content-Type': JSON_TYPE });
}

function itemText({ metadata, spec, status = {} }: ServedObject): string {
  return goJSON({ metadata, spec, status: asGoWrites(status) });
}
