/** Certificate signing requests at the API server. */
import { filter, firstValueFrom, fromEvent, map, type Observable, takeUntil } from 'rxjs';
import {
  type CertificatePurpose,
  type SigningDecision,
  signingDecision,
} from '../../policies/cluster/certificates.ts';
import { sleep } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { StateletError } from '../../../types/errors.ts';
import type { CertificateSigningRequest } from '../../../types/kubernetes.ts';
import { ApiError, hasReason } from '../service/api-error.ts';
import type { ApiServer, WatchEvent } from '../service/api-server.ts';

const RESOURCE = 'certificatesigningrequests';
/** A watch that ends is begun anew. */
const WATCH_SECONDS = 300;
/** Between two looks at a request, when a watch has ended or failed. */
const PAUSE_MS = 5_000;
const DELETED: SigningDecision = { kind: 'refused', problem: 'it was deleted' };

export interface SigningRequest {
  /** PEM. */
  readonly request: string;
  readonly purpose: CertificatePurpose;
  /** Under this name an earlier request is used again. Without it, the server makes a name. */
  readonly name?: string;
}

export interface SubmittedRequest {
  readonly name: string;
  readonly uid: string | undefined;
}

/** Rejects as the API server does. */
export async function submitRequest(server: ApiServer, signing: SigningRequest): Promise<SubmittedRequest> {
  const object = requestObject(signing);
  const made = await server
    .create<CertificateSigningRequest>({ resource: RESOURCE }, object)
    .catch((error: unknown) => {
      if (signing.name === undefined || !hasReason(error, 'AlreadyExists')) throw error;
      return earlierRequest(server, signing.name, signing.purpose);
    });
  return { name: made.metadata?.name ?? '', uid: made.metadata?.uid };
}

async function earlierRequest(
  server: ApiServer,
  name: string,
  { signerName }: CertificatePurpose,
): Promise<CertificateSigningRequest> {
  const earlier = await server.get<CertificateSigningRequest>({ resource: RESOURCE, name });
  if (earlier.spec.signerName === signerName) return earlier;
  const problem = `the certificate signing request ${name} exists, and is for another signer: delete it`;
  throw new StateletError('FailedPrecondition', problem);
}

function requestObject({ request, purpose, name }: SigningRequest): CertificateSigningRequest {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: name === undefined ? { generateName: 'csr-' } : { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: purpose.signerName,
      usages: [...purpose.usages],
    },
  };
}

/**
 * The certificate in PEM, as soon as the request is approved and signed. Rejects with `FailedPrecondition` when it was denied or is
 * gone. An API server that does not answer is asked again, until `signal` aborts.
 */
export async function issuedCertificate(
  server: ApiServer,
  { name, uid }: SubmittedRequest,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string> {
  for (;;) {
    const decision = await nextDecision(server, { name, uid }, signal).catch((error: unknown) => {
      if (isFinal(error)) throw error;
      return undefined;
    });
    signal.throwIfAborted();
    if (decision?.kind === 'issued') return Buffer.from(decision.certificate, 'base64').toString('utf8');
    if (decision?.kind === 'refused') {
      const problem = `the certificate signing request ${name} brings no certificate: ${decision.problem}`;
      throw new StateletError('FailedPrecondition', problem);
    }
    // A server that ends each watch at once would otherwise be asked without pause.
    await sleep(clock, PAUSE_MS, signal);
  }
}

/** The server has answered that the request is gone or may not be read: to ask again does not help. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404].includes(error.status);
}

/** The state of the request now; if it is still waiting, the first one that is not, or the last when the watch ends. */
async function nextDecision(
  server: ApiServer,
  { name, uid }: SubmittedRequest,
  signal: AbortSignal,
): Promise<SigningDecision> {
  const now = await server.get<CertificateSigningRequest>({ resource: RESOURCE, name }, { signal });
  signal.throwIfAborted();
  const decision = signingDecision(now, uid);
  if (decision.kind !== 'waiting') return decision;
  const events = server.watch<CertificateSigningRequest>(
    { resource: RESOURCE },
    {
      fieldSelector: `metadata.name=${name}`,
      resourceVersion: now.metadata?.resourceVersion ?? '0',
      timeoutSeconds: WATCH_SECONDS,
    },
  );
  return firstDecision(events, uid, signal, decision);
}

function firstDecision(
  events: Observable<WatchEvent<CertificateSigningRequest>>,
  uid: string | undefined,
  signal: AbortSignal,
  waiting: SigningDecision,
): Promise<SigningDecision> {
  const decisions = events.pipe(
    filter(({ type }) => type !== 'BOOKMARK'),
    map(({ type, object }) => (type === 'DELETED' ? DELETED : signingDecision(object, uid))),
    filter(({ kind }) => kind !== 'waiting'),
    takeUntil(fromEvent(signal, 'abort')),
  );
  return firstValueFrom(decisions, { defaultValue: waiting });
}
