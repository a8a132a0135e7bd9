/** Routes of the node's ports that only show what the agent knows, as the kubelet serves them. All methods are answered alike. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { goJSON } from '../../policies/formats/go-text.ts';
import {
  checkReport,
  type HealthCheck,
  type HealthReport,
  healthReport,
  verbosityOf,
} from '../../policies/server/health-report.ts';
import { asGoWrites, runningPods } from '../../policies/server/running-pods.ts';
import { inKubeletOrder } from '../../policies/server/summary-order.ts';
import { BoundedOutput } from '../../../system/run-command.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { PodStatus } from '../../../types/kubernetes.ts';
import { answer, answerJSON, JSON_TYPE, NO_SNIFF, type Route } from './route.ts';
import { wantsOnlyCPUAndMemory } from './local-routes.ts';
import type { NodeApi } from './node-api.ts';

const CHECKS = ['ping', 'log', 'syncloop', 'device-plugin'];

/** `/healthz` and one path for each of its checks. Only `syncloop` can fail: lines of the log are written before a request is read, and there is no server for device plugins. */
export function healthRoutes(api: Pick<NodeApi, 'health'>): readonly Route[] {
  const check = (name: string): HealthCheck => ({
    name,
    problem: name === 'syncloop' ? api.health() : undefined,
  });
  return [
    {
      path: '/healthz',
      handle: ({ query }, response) => {
        const report = healthReport(CHECKS.map(check), new URLSearchParams(query));
        write(response, report, NO_SNIFF);
      },
    },
    ...CHECKS.map((name) => ({
      path: `/healthz/${name}`,
      handle: (_request: unknown, response: ServerResponse) => {
        const report = checkReport(check(name));
        write(response, report, report.isHealthy ? {} : NO_SNIFF);
      },
    })),
  ];
}

function write(response: ServerResponse, report: HealthReport, headers: Readonly<Record<string, string>>) {
  answer(response, report.isHealthy ? 200 : 500, report.text, headers);
}

/** `/configz`: the KubeletConfiguration that is in effect. */
export function configurationRoutes(api: Pick<NodeApi, 'configuration'>): readonly Route[] {
  return [
    {
      path: '/configz',
      handle: (_request, response) =>
        answerJSON(response, { kubeletconfig: api.configuration() }, 0, NO_SNIFF),
    },
  ];
}

export function statsRoutes(api: Pick<NodeApi, 'summary'>): readonly Route[] {
  return [
    {
      path: '/stats/summary',
      methods: ['GET', 'POST'],
      handle: async ({ query }, response) => {
        const onlyCPUAndMemory = wantsOnlyCPUAndMemory(query);
        answerJSON(response, inKubeletOrder(await api.summary({ onlyCPUAndMemory })), 1);
      },
    },
  ];
}

const HEADERS = { 'Content-Type': 'text/plain', ...NO_SNIFF };

/** More than any number; of a longer body the beginning is read, which is no number either. */
const BODY_BYTES_MAX = 1024;

/** `/debug/flags/v`: changes how much is logged, until the agent ends. */
export function verbosityRoutes(api: Pick<NodeApi, 'setVerbosity'>): readonly Route[] {
  return [
    {
      path: '/debug/flags/v',
      handle: async ({ raw }, response) => {
        if (raw.method !== 'PUT') {
          answer(response, 406, 'unsupported http method\n', HEADERS);
          return;
        }
        const text = await beginningOf(raw);
        try {
          api.setVerbosity(verbosityOf(text));
        } catch (error) {
          answer(response, 400, `${errorMessage(error)}\n`, HEADERS);
          return;
        }
        answer(response, 200, `successfully set klog.logging.verbosity to ${text}\n`, HEADERS);
      },
    },
  ];
}

async function beginningOf(request: IncomingMessage): Promise<string> {
  const body = new BoundedOutput(BODY_BYTES_MAX);
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    body.add(chunk as Buffer);
    if (body.isFull) break;
  }
  return body.toString();
}

/** `/pods` and `/runningpods/`. */
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
