/** Port forwarding to a hollow pod: at each TCP port that its containers declare, HTTP answers. */
import { createServer } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { PortForwarder } from '../../agent/runtime/service/streaming-runtime.ts';
import { podContainers } from '../../agent/policies/volumes/volume-source.ts';
import { StateletError } from '../../types/errors.ts';
import type { PodSpec } from '../../types/kubernetes.ts';

/** `spec`: undefined for a pod that is gone. */
export function hollowPorts(spec: () => PodSpec | undefined, pod: string, node: string): PortForwarder {
  const open = new Set<Duplex>();
  return {
    connect: (port) => {
      const container = containerAt(spec(), port);
      if (container === undefined) return Promise.reject(nothingListens(port));
      const [client, server] = duplexPair();
      open.add(client);
      client.once('close', () => open.delete(client));
      answer(server, `hollow container "${container}" of ${pod} on ${node}: nothing runs here\n`);
      return Promise.resolve(client);
    },
    close: () => {
      for (const client of open) client.destroy();
    },
  };
}

function containerAt(spec: PodSpec | undefined, port: number): string | undefined {
  return (spec ? podContainers(spec) : []).find(({ ports = [] }) =>
    ports.some(({ containerPort, protocol = 'TCP' }) => containerPort === port && protocol === 'TCP'),
  )?.name;
}

/** As the kubelet reports it. */
function nothingListens(port: number): Error {
  const message = `dial tcp4 127.0.0.1:${String(port)}: connect: connection refused`;
  return new StateletError('Unavailable', message);
}

/** One server a connection: there are few, and it ends with it. */
function answer(connection: Duplex, text: string): void {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.end(text);
  });
  server.emit('connection', connection);
}
