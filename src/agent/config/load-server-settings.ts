/** Settings of the node's own server, with the kubelet's flags, fields and defaults. */
import { cipherSuitesProblem, curvesProblem, minVersionProblem } from '../policies/server/tls-names.ts';
import { StateletError } from '../../types/errors.ts';
import { type ClusterSettings, NODE_PORT, type ServerSettings } from '../../types/node-settings.ts';
import {
  type GivenSettings,
  absolute,
  between,
  duration,
  flagOrNot,
  type Kind,
  list,
  number,
  resolveSettings,
  type Setting,
  text,
  timer,
} from './setting.ts';

/** `auto`: any free port. As with the kubelet, 0 in the file means the default. */
const optionalPort: Kind<number | undefined> = {
  fromText: (given) => (given === 'auto' ? 0 : number.fromText(given)),
  fromField: (value) => (value === 0 ? undefined : (value as number)),
  expects: 'a port, or "auto"',
  show: (value) => (value === undefined ? '' : String(value)),
};
const numbers: Kind<readonly number[]> = {
  fromText: () => undefined,
  fromField: (value) => value as readonly number[],
  expects: 'a list of numbers',
  show: (value) => value.join(','),
};
/** As with the kubelet, 0 in the file means the default: the file cannot switch the limit off. */
const idle: Kind<number> = { ...duration, expects: 'a duration such as 4h' };
const PORTS = between(0, 65_535);
const TTL = timer(0);

const SERVER_SETTINGS: { readonly [Name in keyof ServerSettings]: Setting<ServerSettings[Name]> } = {
  enableServer: {
    flag: '--enable-server [BOOL]',
    field: 'enableServer',
    default: true,
    kind: flagOrNot,
    description: "whether the node's own server is opened",
  },
  address: {
    flag: '--address <IP>',
    field: 'address',
    default: '0.0.0.0',
    kind: text,
    description: "address of the node's own server",
  },
  port: {
    flag: '--port <PORT>',
    field: 'port',
    default: undefined,
    kind: optionalPort,
    description:
      "port of the node's own server (HTTPS): 10250 in a cluster, none without; auto: any free port",
    problem: (value) => (value === undefined ? undefined : PORTS(value)),
  },
  readOnlyPort: {
    flag: '--read-only-port <PORT>',
    field: 'readOnlyPort',
    default: 0,
    kind: number,
    description: 'a port for everyone (HTTP): health, pods, stats and metrics without a password; 0: none',
    problem: PORTS,
  },
  tlsCertFile: {
    flag: '--tls-cert-file <FILE>',
    field: 'tlsCertFile',
    default: '',
    kind: text,
    description:
      "certificate of the node's own server; without it one of the API server (serverTLSBootstrap), or a self-signed one",
  },
  tlsPrivateKeyFile: {
    flag: '--tls-private-key-file <FILE>',
    field: 'tlsPrivateKeyFile',
    default: '',
    kind: text,
    description: 'the key of the certificate of --tls-cert-file',
  },
  tlsMinVersion: {
    flag: '--tls-min-version <VERSION>',
    field: 'tlsMinVersion',
    default: '',
    kind: text,
    description: 'the lowest version of TLS: VersionTLS12 unless given',
    problem: minVersionProblem,
  },
  tlsCipherSuites: {
    flag: '--tls-cipher-suites <NAMES>',
    field: 'tlsCipherSuites',
    default: [],
    kind: list,
    description: "cipher suites by Go's names, with commas between",
    problem: cipherSuitesProblem,
  },
  tlsCurvePreferences: {
    field: 'tlsCurvePreferences',
    default: [],
    kind: numbers,
    description: "curves by Go's numbers",
    problem: curvesProblem,
  },
  clientCAFile: {
    flag: '--client-ca-file <FILE>',
    field: 'authentication.x509.clientCAFile',
    default: '',
    kind: text,
    description: 'the authorities whose client certificates are accepted',
  },
  tokenWebhook: {
    flag: '--authentication-token-webhook [BOOL]',
    field: 'authentication.webhook.enabled',
    default: true,
    kind: flagOrNot,
    description: 'whether the API server is asked whose a bearer token is',
  },
  tokenCacheTTLMs: {
    flag: '--authentication-token-webhook-cache-ttl <DURATION>',
    field: 'authentication.webhook.cacheTTL',
    default: 120_000,
    kind: duration,
    description: 'how long the answer about a bearer token is kept',
    problem: TTL,
  },
  anonymousAuth: {
    flag: '--anonymous-auth [BOOL]',
    field: 'authentication.anonymous.enabled',
    default: false,
    kind: flagOrNot,
    description: 'whether requests without credentials are accepted, as those of system:anonymous',
  },
  authorizationMode: {
    flag: '--authorization-mode <MODE>',
    field: 'authorization.mode',
    default: 'Webhook',
    kind: text,
    description:
      'Webhook: the API server is asked what a user may do; AlwaysAllow: every authenticated user may do everything',
    problem: (value) => (['Webhook', 'AlwaysAllow'].includes(value) ? undefined : 'Webhook or AlwaysAllow'),
  },
  authorizedTTLMs: {
    flag: '--authorization-webhook-cache-authorized-ttl <DURATION>',
    field: 'authorization.webhook.cacheAuthorizedTTL',
    default: 300_000,
    kind: duration,
    description: 'how long the answer is kept that a user may do something',
    problem: TTL,
  },
  unauthorizedTTLMs: {
    flag: '--authorization-webhook-cache-unauthorized-ttl <DURATION>',
    field: 'authorization.webhook.cacheUnauthorizedTTL',
    default: 30_000,
    kind: duration,
    description: 'how long the answer is kept that a user may not do something',
    problem: TTL,
  },
  enableDebuggingHandlers: {
    flag: '--enable-debugging-handlers [BOOL]',
    field: 'enableDebuggingHandlers',
    default: true,
    kind: flagOrNot,
    description: 'whether logs, exec, attach, port-forward and their like are served',
  },
  streamingConnectionIdleTimeoutMs: {
    flag: '--streaming-connection-idle-timeout <DURATION>',
    field: 'streamingConnectionIdleTimeout',
    default: 4 * 60 * 60_000,
    kind: idle,
    description: 'how long exec, attach and port-forward may be silent; 0: without limit',
    problem: timer(0),
  },
  enableSystemLogHandler: {
    field: 'enableSystemLogHandler',
    default: true,
    kind: flagOrNot,
    description: 'whether the files of /var/log are served',
  },
  enableSystemLogQuery: {
    field: 'enableSystemLogQuery',
    default: false,
    kind: flagOrNot,
    description: 'whether the logs of services can be asked for: /logs/?query=NAME',
  },
  enableProfilingHandler: {
    field: 'enableProfilingHandler',
    default: true,
    kind: flagOrNot,
    description: 'whether profiles of the agent are served',
  },
  enableDebugFlagsHandler: {
    field: 'enableDebugFlagsHandler',
    default: true,
    kind: flagOrNot,
    description: 'whether the verbosity of the log can be changed by a request',
  },
};

/** All rows of the table. */
export const ALL_SERVER_SETTINGS = Object.values(SERVER_SETTINGS) as unknown as readonly Setting[];

/** Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveServerSettings(given: GivenSettings): ServerSettings {
  const settings = resolveSettings<ServerSettings>(SERVER_SETTINGS, given);
  const { tlsCertFile, tlsPrivateKeyFile, clientCAFile } = settings;
  if ((tlsCertFile === '') !== (tlsPrivateKeyFile === '')) {
    const [given, missing] =
      tlsCertFile === ''
        ? ['tlsPrivateKeyFile', 'tlsCertFile (--tls-cert-file)']
        : ['tlsCertFile', 'tlsPrivateKeyFile (--tls-private-key-file)'];
    throw new StateletError('InvalidArgument', `${given}: ${missing} must be given too`);
  }
  return {
    ...settings,
    tlsCertFile: absolute(tlsCertFile),
    tlsPrivateKeyFile: absolute(tlsPrivateKeyFile),
    clientCAFile: absolute(clientCAFile),
  };
}

interface PortSettings {
  readonly server: ServerSettings;
  readonly cluster: Pick<ClusterSettings, 'kubeconfig'>;
}

/** The port of HTTPS. Without a cluster it is opened only where it is asked for, since several daemons can run on one machine. */
export function securePort({ server, cluster }: PortSettings): number | undefined {
  return server.port ?? (cluster.kubeconfig === '' ? undefined : NODE_PORT);
}

/** Whether the node's server has a port of its own, beside the socket. */
export function opensPorts(config: PortSettings): boolean {
  const { enableServer, readOnlyPort } = config.server;
  return enableServer && (securePort(config) !== undefined || readOnlyPort !== 0);
}
