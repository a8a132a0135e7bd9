/** What requests for `/exec`, `/attach`, `/portForward` and `/run` ask for, by the kubelet's rules. */
import { formValues, type FormValues, type Refusal } from './log-options.ts';

export interface RemoteCommandRequest {
  /** Without `?`. */
  readonly query: string;
  /** The body of a form; its values come before those of the query. */
  readonly form?: string;
}

export interface SelectedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Never with `tty`. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface RemoteCommand extends SelectedStreams {
  readonly command: readonly string[];
}

const POD_UNKNOWN: Refusal = { status: 404, message: 'pod does not exist' };
const OTHER_POD: Refusal = { status: 404, message: 'pod not found' };
const NO_STREAM: Refusal = {
  status: 400,
  message: 'you must specify at least 1 of stdin, stdout, stderr',
};

/** Of `/exec` and `/attach`, which has no command. The request is judged before the pod is looked for. */
export function remoteCommand(
  { query, form = '' }: RemoteCommandRequest,
  podExists: boolean,
): RemoteCommand | Refusal {
  const inQuery = formValues(query);
  const inForm = formValues(form);
  const isOne = (name: string) => (inForm.get(name) ?? inQuery.get(name))?.[0] === '1';
  const tty = isOne('tty');
  const streams = { stdin: isOne('input'), stdout: isOne('output'), stderr: isOne('error') && !tty };
  if (!streams.stdin && !streams.stdout && !streams.stderr) return NO_STREAM;
  return podExists ? { ...streams, tty, command: inQuery.get('command') ?? [] } : POD_UNKNOWN;
}

/** Of `/run`: unlike `/exec`, one parameter that is split at each blank. */
export function runCommand(query: string, podExists: boolean): readonly string[] | Refusal {
  return podExists ? (formValues(query).get('cmd')?.[0] ?? '').split(' ') : POD_UNKNOWN;
}

export interface ForwardRequest {
  readonly query: string;
  /** Only a WebSocket client names its ports in the query. */
  readonly isWebSocket: boolean;
  /** As the path has it; empty: any. */
  readonly uid: string;
}

/** The ports of `/portForward`; `podUid` is undefined for an unknown pod. */
export function forwardedPorts(
  { query, isWebSocket, uid }: ForwardRequest,
  podUid: string | undefined,
): readonly number[] | Refusal {
  const ports = isWebSocket ? portsOf(formValues(query)) : [];
  if ('message' in ports) return ports;
  if (podUid === undefined) return POD_UNKNOWN;
  return uid === '' || uid === podUid ? ports : OTHER_POD;
}

const badPort = (message: string): Refusal => ({ status: 400, message });

function portsOf(query: FormValues): readonly number[] | Refusal {
  const values = query.get('port');
  if (!values) return badPort('query parameter "port" is required');
  const ports: number[] = [];
  for (const value of values) {
    if (value === '') return badPort('query parameter "port" cannot be empty');
    for (const part of value.split(',')) {
      const port = parsePort(part);
      if (typeof port !== 'number') {
        const quoted = JSON.stringify(value);
        return badPort(
          port.isZero ? `port ${quoted} must be > 0` : `unable to parse ${quoted} as a port: ${port.why}`,
        );
      }
      ports.push(port);
    }
  }
  return ports;
}

export interface BadPort {
  readonly isZero?: boolean;
  /** In the words of Go's strconv.ParseUint. */
  readonly why: string;
}

/** Digits only, up to 65535. */
export function parsePort(text: string): number | BadPort {
  const wrong = (what: string): BadPort => ({
    why: `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${what}`,
  });
  let port = 0;
  for (const character of text) {
    if (character < '0' || character > '9') return wrong('invalid syntax');
    port = port * 10 + Number(character);
    if (port > 65_535) return wrong('value out of range');
  }
  if (text === '') return wrong('invalid syntax');
  return port === 0 ? { isZero: true, why: 'it is 0' } : port;
}
