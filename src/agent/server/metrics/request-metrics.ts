/** Counts the requests to the ports of the node, as the kubelet does. */
import type { NodeRequest, RequestMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet, USUAL_BOUNDS } from './counters.ts';
import type { Labels, Metric } from './metric-text.ts';

/** A method, or a path, that has no series of its own. */
const OTHER = 'other';
const METHODS: ReadonlySet<string> = new Set('OPTIONS GET HEAD POST PUT DELETE TRACE CONNECT'.split(' '));
/** The first parts of paths; of metrics, the first two. */
const PATHS: ReadonlySet<string> = new Set([
  ...['healthz', 'pods', 'stats', 'metrics', 'metrics/cadvisor', 'metrics/probes', 'metrics/resource'],
  ...['run', 'exec', 'attach', 'portForward', 'containerLogs', 'configz', 'runningpods', 'checkpoint'],
  ...['logs', 'debug', 'flagz', 'statusz'],
]);
/** The kubelet's list. It also has `portforward`, but the path is `/portForward`, so that the kubelet never counts that one as long. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);
const STREAMS: ReadonlySet<string> = new Set(['exec', 'attach', 'portForward']);

export class RequestMetrics implements RequestMeasurements {
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #requests = this.#set.counter(
    'kubelet_http_requests_total',
    '[ALPHA] Number of the http requests received since the server started',
  );
  readonly #duration = this.#set.histogram(
    'kubelet_http_requests_duration_seconds',
    '[ALPHA] Duration in seconds to serve http requests',
    USUAL_BOUNDS,
  );
  readonly #webSockets = this.#set.counter(
    'kubelet_websocket_streaming_requests_total',
    '[ALPHA] Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.',
  );
  readonly #inFlight = new Map<string, { readonly labels: Labels; count: number }>();

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#set.gauge('kubelet_http_inflight_requests', '[ALPHA] Number of the inflight http requests', () =>
      Array.from(this.#inFlight.values(), ({ labels, count }) => [labels, count] as const),
    );
  }

  nodeRequest(request: NodeRequest): Stopwatch {
    const labels = labelsOf(request);
    const end = this.#duration.startTimer(this.#nowMs, labels);
    const key = Object.values(labels).join(' ');
    const inFlight = this.#inFlight.get(key) ?? { labels, count: 0 };
    inFlight.count += 1;
    this.#inFlight.set(key, inFlight);
    this.#requests.add(labels);
    return () => {
      inFlight.count -= 1;
      end();
    };
  }

  webSocketAdmitted(path: string): void {
    const root = rootOf(path);
    if (STREAMS.has(root)) this.#webSockets.add({ subresource: root.toLowerCase() });
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}

function labelsOf({ method, path, isReadOnly }: NodeRequest): Labels {
  const root = path === undefined ? OTHER : rootOf(path);
  return {
    long_running: String(LONG_RUNNING.has(root)),
    method: METHODS.has(method) ? method : OTHER,
    path: root,
    server_type: isReadOnly ? 'readonly' : 'readwrite',
  };
}

function rootOf(path: string): string {
  const [, first = '', second] = path.split('/', 3);
  const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  return PATHS.has(root) ? root : OTHER;
}
