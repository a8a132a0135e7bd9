/** Whether the API server answers, with a certificate that is believed, and what time it has. */
import { request } from 'node:http';
import { dial, serverUrl } from '../cluster/client/dial.ts';
import type { ApiServerFacts } from '../policies/doctor/certificate-findings.ts';
import { clockDifferenceMs } from '../policies/node/lease-renewal.ts';
import { systemClock } from '../system/system-clock.ts';
import type { FoundKubeconfig } from './certificate-files.ts';
import { reading } from './reading.ts';

const PATIENCE_MS = 10_000;
const HEAD_BYTES_MAX = 16 * 1024;

/** Without credentials: each answer has the time, also a refusal. */
export async function apiServerFacts({ path, entry, ca }: FoundKubeconfig): Promise<ApiServerFacts> {
  const { server, tlsServerName, insecureSkipTLSVerify, proxyURL } = entry.cluster;
  const details = {
    server,
    headers: {},
    ...(ca !== undefined && { ca }),
    ...(tlsServerName !== undefined && { tlsServerName }),
    ...(insecureSkipTLSVerify && { insecureSkipTLSVerify }),
    ...(proxyURL !== undefined && { proxyURL }),
  };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const ask = async () => {
    const socket = await dial(details, { protocols: ['http/1.1'], signal, env: process.env });
    try {
      return await timeDifference(socket, serverUrl(server).host, signal);
    } finally {
      socket.destroy();
    }
  };
  return { server, kubeconfig: path, differenceMs: await reading(ask()) };
}

function timeDifference(
  socket: Awaited<ReturnType<typeof dial>>,
  host: string,
  signal: AbortSignal,
): Promise<number> {
  const askedMs = systemClock.now();
  return new Promise((resolve, reject) => {
    request({
      createConnection: () => socket,
      path: '/version',
      headers: { host, connection: 'close' },
      maxHeaderSize: HEAD_BYTES_MAX,
      signal,
    })
      .once('error', reject)
      .once('response', ({ headers: { date } }) => {
        resolve(clockDifferenceMs({ askedMs, gotMs: systemClock.now(), date }));
      })
      .end();
  });
}
