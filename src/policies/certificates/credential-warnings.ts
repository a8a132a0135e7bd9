/** What an administrator should know about a client certificate that was given to a node. */
import { rfc3339 } from '../formats/time.ts';
import { type CertificateFacts, isExpired } from './certificate-rotation.ts';
import { nodeUser } from './certificate-template.ts';

/**
 * These are no errors: the API server decides whom it accepts, and its clock may differ. Plain texts, without the name of the file.
 */
export function credentialWarnings(certificate: CertificateFacts, nodeName: string, now: number): string[] {
  const { commonName, organizations, notBefore, notAfter } = certificate;
  const user = nodeUser(nodeName);
  return [
    ...(isExpired(certificate, now)
      ? [`it expired at ${rfc3339(notAfter)}, by the clock of this machine`]
      : []),
    ...(now < notBefore
      ? [`it is valid only from ${rfc3339(notBefore)} on, by the clock of this machine`]
      : []),
    ...(commonName !== user
      ? [`it is for the user ${commonName}: what a node may do, the API server allows ${user}`]
      : []),
    ...(commonName === user && !organizations.includes('system:nodes')
      ? ['it does not name the group system:nodes, to which the API server gives the rights of a node']
      : []),
  ];
}
