/** The file of the ResourceClaims that drivers have prepared, or may have prepared, for pods of this node. */
import { crc32 } from 'node:zlib';
import type { ClaimState } from '../../policies/dra/claim-devices.ts';
import { claimsText, readClaims } from '../../policies/dra/claims-checkpoint.ts';
import type { StoredText } from '../../../system/newest-file.ts';
import { StateFile } from '../node/state-file.ts';

/** Its name in the root folder. */
export const CLAIMS_FILE = 'dra_manager_state';

export function claimsFile(file: StoredText): StateFile<readonly ClaimState[]> {
  return new StateFile(file, {
    manager: 'DRA',
    read: (text) => readClaims(text, crc32),
    text: (claims) => claimsText(claims, crc32),
  });
}
