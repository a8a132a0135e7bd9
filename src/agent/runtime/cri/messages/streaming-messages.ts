/** Messages of runtime.v1 about streams: field numbers as in `api.proto` of k8s.io/cri-api. */
import { bool, field, int, list, message, string } from '../../../../system/protobuf.ts';
import type { AttachRequest, ExecRequest, PortForwardRequest } from '../../service/streaming-runtime.ts';

export const execRequest = message<ExecRequest>({
  containerId: field(1, string),
  command: list(2, string),
  tty: field(3, bool),
  stdin: field(4, bool),
  stdout: field(5, bool),
  stderr: field(6, bool),
});

export const attachRequest = message<AttachRequest>({
  containerId: field(1, string),
  stdin: field(2, bool),
  tty: field(3, bool),
  stdout: field(4, bool),
  stderr: field(5, bool),
});

export const portForwardRequest = message<PortForwardRequest>({
  podSandboxId: field(1, string),
  ports: list(2, int),
});

export const streamingResponse = message<{ url: string }>({ url: field(1, string) });
