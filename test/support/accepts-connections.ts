import { once } from 'node:events';
import { connect } from 'node:net';

/** Whether somebody listens at the Unix socket. One that is there need not be listened at yet. */
export async function acceptsConnections(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
