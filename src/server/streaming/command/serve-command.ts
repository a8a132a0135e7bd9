/**
 * Carries the streams of a command between a client and the runtime. A runtime that serves them itself closes its connection right
 * after the outcome, while much of the output is still on its way to a slow client. Bytes that this client sends then, such as a
 * ping, must not reach that connection: the system would discard the output. So the client's connection ends here.
 */
import type { SelectedStreams } from '../../../policies/server/remote-command-options.ts';
import type { CommandStreams, Streaming } from '../../../runtime/service/streaming-runtime.ts';
import { askRuntime } from '../found-container.ts';
import type { StreamingLimits } from '../streaming-limits.ts';
import { acceptSpdy, acceptWebSocket, type UpgradeRequest } from '../upgrade/accept.ts';
import { isWebSocket, spdyProtocol, webSocketProtocol } from '../upgrade/negotiation.ts';
import { joinCommand, type CommandChannels } from './command-session.ts';
import { openRuntimeCommand, reachRuntime } from './runtime-command.ts';
import { COMMAND_PROTOCOLS, spdyChannels } from './spdy-channels.ts';
import { COMMAND_SUBPROTOCOLS, webSocketCommand } from './web-socket-command.ts';

export interface ServedCommand {
  readonly kind: 'exec' | 'attach';
  readonly streams: SelectedStreams;
  /** Asks the runtime; an embedded one starts the command. */
  start(): Promise<Streaming<CommandStreams>>;
  readonly signal: AbortSignal;
  readonly limits: StreamingLimits;
}

/** Throws a `RequestError` while the request can still be refused. Resolves when the connection is done with or handed over. */
export async function serveCommand(client: UpgradeRequest, command: ServedCommand): Promise<void> {
  const { kind, signal } = command;
  const open = opening(client, command);
  const started = await askRuntime(command.start());
  if ('url' in started) {
    const socket = await askRuntime(reachRuntime(started.url, signal));
    const channels = await open(true).catch(() => undefined);
    if (channels) await joinCommand(openRuntimeCommand(socket, command.streams), channels, kind);
    else socket.destroy();
    return;
  }
  const { streams } = started;
  // The exit may be known before anybody waits for it.
  streams.exit.catch(() => undefined);
  const channels = await open(false).catch(() => undefined);
  if (channels) await joinCommand(streams, channels, kind);
  else streams.abandon();
}

/** Undefined, or a rejection: the client has not come. `isCarried`: by the runtime's own server. */
type Opening = (isCarried: boolean) => Promise<CommandChannels | undefined>;

/** A request that no protocol fits is refused here, before the command is started. */
function opening(client: UpgradeRequest, { streams, limits: { creationMs } }: ServedCommand): Opening {
  if (isWebSocket(client.raw)) {
    const protocol = webSocketProtocol(client.raw, COMMAND_SUBPROTOCOLS);
    return async (isCarried) => {
      const socket = await acceptWebSocket(client, { protocol, tellsNone: isCarried });
      return socket && webSocketCommand(socket, protocol, streams);
    };
  }
  const protocol = spdyProtocol(client.raw, COMMAND_PROTOCOLS);
  return () => spdyChannels(acceptSpdy(client, protocol), { streams, protocol, creationMs });
}
