/** Carries forwarded connections between a client and the runtime. */
import { createWebSocketStream } from 'ws';
import type { PortForwarder, Streaming } from '../../../runtime/service/streaming-runtime.ts';
import { askRuntime } from '../found-container.ts';
import type { StreamingLimits } from '../streaming-limits.ts';
import { acceptSpdy, acceptWebSocket, type UpgradeRequest } from '../upgrade/accept.ts';
import { isWebSocket, listed, spdyProtocol, webSocketProtocol } from '../upgrade/negotiation.ts';
import { joinSockets, proxyUpgrade } from '../upgrade/proxy-upgrade.ts';
import { askForSpdy } from '../upgrade/runtime-upgrade.ts';
import { type ForwardedPod, forwarderTarget, type ForwardTarget } from './forward-connection.ts';
import { openRuntimeForward } from './runtime-forward.ts';
import { FORWARD_PROTOCOL, forwardOverSpdy } from './spdy-forward.ts';
import { FORWARD_SUBPROTOCOLS, forwardOverWebSocket } from './web-socket-forward.ts';

export interface ServedForward extends ForwardedPod {
  readonly ports: readonly number[];
  start(): Promise<Streaming<PortForwarder>>;
  readonly signal: AbortSignal;
  readonly limits: StreamingLimits;
}

/** SPDY in the messages of a WebSocket. */
const TUNNEL = `SPDY/3.1+${FORWARD_PROTOCOL}`;

/** Whether the client carries SPDY in a WebSocket: then it names the port of each connection in its stream. */
export function isTunnel({ raw }: Pick<UpgradeRequest, 'raw'>): boolean {
  return isWebSocket(raw) && listed(raw, 'sec-websocket-protocol').includes(TUNNEL);
}

/** Throws a `RequestError` while the request can still be refused. Resolves when the connection is done with or handed over. */
export async function serveForward(client: UpgradeRequest, forward: ServedForward): Promise<void> {
  const serve = serving(client, forward);
  const started = await askRuntime(forward.start());
  const { signal } = forward;
  if ('streams' in started) await serve(forwarderTarget(started.streams, forward), false);
  else if (isTunnel(client)) await tunnel(client, started.url, signal);
  // Its connection to the runtime would end with what the pod sends, before a slow client has read that.
  else if (isWebSocket(client.raw))
    await serve(await askRuntime(openRuntimeForward(started.url, signal)), true);
  else await proxyUpgrade(client, started.url, signal);
}

/** `isCarried`: by the runtime's own server. */
type Serving = (target: ForwardTarget, isCarried: boolean) => Promise<void>;

/** A request that no protocol fits is refused here. */
function serving(client: UpgradeRequest, { ports, limits: { creationMs } }: ServedForward): Serving {
  if (isTunnel(client)) {
    return async (target) => {
      const socket = await acceptWebSocket(client, { protocol: TUNNEL });
      if (socket) await forwardOverSpdy(createWebSocketStream(socket), target, creationMs);
      else target.close();
    };
  }
  if (isWebSocket(client.raw)) {
    const protocol = webSocketProtocol(client.raw, FORWARD_SUBPROTOCOLS);
    return async (target, isCarried) => {
      const socket = await acceptWebSocket(client, { protocol, tellsNone: isCarried });
      if (socket) await forwardOverWebSocket(socket, protocol, ports, target);
      else target.close();
    };
  }
  const protocol = spdyProtocol(client.raw, [FORWARD_PROTOCOL]);
  return (target) => forwardOverSpdy(acceptSpdy(client, protocol), target, creationMs);
}

/** The runtime speaks SPDY; the bytes are the same. */
async function tunnel(client: UpgradeRequest, url: URL, signal: AbortSignal): Promise<void> {
  const runtime = await askRuntime(askForSpdy({ url, protocol: FORWARD_PROTOCOL, signal }));
  const socket = await acceptWebSocket(client, { protocol: TUNNEL });
  if (socket) joinSockets(createWebSocketStream(socket), runtime);
  else runtime.destroy();
}
