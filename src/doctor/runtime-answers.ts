/** What a CRI runtime says of itself. */
import { connect } from 'node:net';
import type { Reading } from '../policies/doctor/finding.ts';
import type { RuntimeAnswer } from '../policies/doctor/runtime-findings.ts';
import { Channel } from '../runtime/cri/calls/channel.ts';
import { IMAGE_STATUS, RUNTIME_CONFIG, STATUS, VERSION } from '../runtime/cri/messages/methods.ts';
import type { RuntimeCondition } from '../types/cri.ts';
import { reading } from './reading.ts';

const PATIENCE_MS = 5_000;

export interface RuntimeAnswers {
  readonly answer: Reading<RuntimeAnswer>;
  /** Of a verbose Status; empty where the runtime does not answer. */
  readonly info: Readonly<Record<string, string>>;
  /** Of RuntimeConfig; undefined before containerd 2 and CRI-O 1.28. */
  readonly driver: 'SYSTEMD' | 'CGROUPFS' | undefined;
  /** Undefined where the runtime does not answer. */
  hasImage(image: string): Promise<boolean | undefined>;
  close(): void;
}

/** `endpoint`: `unix:///PATH`. */
export async function askRuntime(endpoint: string, imageEndpoint = ''): Promise<RuntimeAnswers> {
  const socket = await reading(connected(endpoint.slice('unix://'.length)));
  if ('problem' in socket) {
    return {
      answer: socket,
      info: {},
      driver: undefined,
      hasImage: () => Promise.resolve(undefined),
      close: () => undefined,
    };
  }
  const channel = new Channel(endpoint);
  const images = imageEndpoint === '' ? channel : new Channel(imageEndpoint);
  const options = { timeoutMs: PATIENCE_MS };
  const answers = await reading(
    Promise.all([channel.call(VERSION, {}, options), channel.call(STATUS, { verbose: true }, options)]),
  );
  const driver = await channel.call(RUNTIME_CONFIG, {}, options).then(
    ({ linux }) => linux?.cgroupDriver,
    () => undefined,
  );
  return {
    ...('value' in answers ? answerOf(...answers.value) : { answer: answers, info: {} }),
    driver,
    hasImage: (image) =>
      images.call(IMAGE_STATUS, { image: { image, annotations: {}, userSpecifiedImage: '' } }, options).then(
        (status) => status.image !== undefined,
        () => undefined,
      ),
    close: () => {
      channel.close();
      images.close();
    },
  };
}

interface VersionAnswer {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
}

interface StatusAnswer {
  readonly status?: { readonly conditions: readonly { readonly type: string }[] };
  readonly info?: Readonly<Record<string, string>>;
}

function answerOf(
  { runtimeName, runtimeVersion }: VersionAnswer,
  { status, info = {} }: StatusAnswer,
): Pick<RuntimeAnswers, 'answer' | 'info'> {
  const conditions = (status?.conditions ?? []) as readonly RuntimeCondition[];
  return { answer: { value: { name: runtimeName, version: runtimeVersion, conditions } }, info };
}

/** gRPC would hide what the system says of the socket. */
function connected(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
