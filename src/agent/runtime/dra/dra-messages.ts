/** The messages and methods of DRA drivers: their service is the same in `v1` and `v1beta1`, but for its name. */
import type { DraService } from '../../policies/dra/dra-registration.ts';
import type { ClaimDevice, ClaimKey } from '../../policies/dra/claim-devices.ts';
import type { ReportedHealth } from '../../policies/dra/device-health-list.ts';
import type { Method } from '../../../system/grpc/method.ts';
import { enumeration, field, int, list, mapOf, message, string } from '../../../system/protobuf.ts';

interface ClaimsRequest {
  readonly claims: readonly ClaimKey[];
}

/** By the UIDs of the claims. */
interface ClaimsAnswer<Answer> {
  readonly claims: Readonly<Record<string, Answer>>;
}

export interface PreparedAnswer {
  readonly devices: readonly ClaimDevice[];
  /** Empty: all went well. */
  readonly error: string;
}

export type UnpreparedAnswer = Pick<PreparedAnswer, 'error'>;

const claimsRequest = message<ClaimsRequest>({
  claims: list(
    1,
    message<ClaimKey>({ namespace: field(1, string), uid: field(2, string), name: field(3, string) }),
  ),
});

const prepared = message<PreparedAnswer>({
  devices: list(
    1,
    message<ClaimDevice>({
      requests: list(1, string),
      pool: field(2, string),
      device: field(3, string),
      cdiIds: list(4, string),
      shareId: field(5, string),
    }),
  ),
  error: field(2, string),
});

export function prepareMethod(service: DraService): Method<ClaimsRequest, ClaimsAnswer<PreparedAnswer>> {
  return {
    name: 'NodePrepareResources',
    path: `/${service}/NodePrepareResources`,
    request: claimsRequest,
    response: message({ claims: mapOf(1, prepared) }),
  };
}

export function unprepareMethod(service: DraService): Method<ClaimsRequest, ClaimsAnswer<UnpreparedAnswer>> {
  return {
    name: 'NodeUnprepareResources',
    path: `/${service}/NodeUnprepareResources`,
    request: claimsRequest,
    response: message({ claims: mapOf(1, message<UnpreparedAnswer>({ error: field(1, string) })) }),
  };
}

export const WATCH_RESOURCES: Method<object, { readonly devices: readonly ReportedHealth[] }> = {
  name: 'NodeWatchResources',
  path: '/v1alpha1.DRAResourceHealth/NodeWatchResources',
  request: message<object>({}),
  response: message({
    devices: list(
      1,
      message<ReportedHealth>({
        device: field(
          1,
          message<NonNullable<ReportedHealth['device']>>({
            pool: field(1, string),
            device: field(2, string),
          }),
        ),
        health: field(2, enumeration(['Unknown', 'Healthy', 'Unhealthy', 'other'])),
        timeoutSeconds: field(4, int),
        message: field(5, string),
      }),
    ),
  }),
};
