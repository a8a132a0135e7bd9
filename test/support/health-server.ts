import { Server, ServerCredentials } from '@grpc/grpc-js';

interface Request {
  readonly service: string;
}

const SERVING = 1;
const NOT_SERVING = 2;

/** The standard health service of gRPC, on all addresses of the machine. */
export class HealthServer {
  /** Names of services that are not serving; the empty name means the whole server. */
  readonly notServing = new Set<string>();
  readonly #server = new Server();

  /** Resolves to the port. */
  listen(): Promise<number> {
    const check = {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: ({ service }: Request) => Buffer.from(service),
      // Each message has one field: its tag, and for a text its length.
      requestDeserialize: (bytes: Buffer): Request => ({ service: bytes.subarray(2).toString('utf8') }),
      responseSerialize: (status: number) => Buffer.from([0x08, status]),
      responseDeserialize: (bytes: Buffer) => bytes[1] ?? 0,
    };
    const answer = ({ request }: { request: Request }, done: (error: null, status: number) => void) =>
      done(null, this.notServing.has(request.service) ? NOT_SERVING : SERVING);
    this.#server.addService({ check }, { check: answer });
    return new Promise((resolve, reject) => {
      const bound = (error: Error | null, port: number) => (error ? reject(error) : resolve(port));
      this.#server.bindAsync('0.0.0.0:0', ServerCredentials.createInsecure(), bound);
    });
  }

  stop(): void {
    this.#server.forceShutdown();
  }
}
