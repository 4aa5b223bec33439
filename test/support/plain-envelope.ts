import type { JobEnvelope } from '../../src/mail-out/delivery/job-envelopes.ts'

/** A message leaves unsigned and untracked, under the null reverse-path. */
export const plainEnvelope: JobEnvelope = {
  signingKeys: [],
  tls: 'opportunistic',
  knownName: null,
  tracking: null,
  fields: [],
  envelopeOf: () => ({ reversePath: '', traceFields: '', fields: [] }),
}
