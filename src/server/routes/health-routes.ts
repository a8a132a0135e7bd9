/** `/healthz` and one path for each of its checks, as the kubelet serves them. All methods are answered alike. */
import type { ServerResponse } from 'node:http';
import {
  checkReport,
  type HealthCheck,
  type HealthReport,
  healthReport,
} from '../../policies/server/health-report.ts';
import { answer, NO_SNIFF } from './answers.ts';
import type { NodeApi } from './node-api.ts';
import type { Route } from './route.ts';

const CHECKS = ['ping', 'log', 'syncloop', 'device-plugin'] as const;
type CheckName = (typeof CHECKS)[number];

/** Only `syncloop` can fail: lines of the log are written before a request is read, and there is no server for device plugins. */
export function healthRoutes(
  api: Pick<NodeApi, 'health'>,
  names: readonly CheckName[] = CHECKS,
): readonly Route[] {
  const check = (name: CheckName): HealthCheck => ({
    name,
    problem: name === 'syncloop' ? api.health() : undefined,
  });
  return [
    {
      path: '/healthz',
      handle: ({ query }, response) => {
        const report = healthReport(names.map(check), new URLSearchParams(query));
        write(response, report, NO_SNIFF);
      },
    },
    ...names.map((name) => ({
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
