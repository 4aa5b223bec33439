import type { JobFrame } from '../../src/delivery/job-frames.ts'

/** A message leaves unsigned and untracked, under the null reverse-path. */
export const plainFrame: JobFrame = {
  signingKeys: [],
  tls: 'opportunistic',
  knownName: null,
  tracking: null,
  fields: [],
  frameOf: () => ({ reversePath: '', traceFields: '', fields: [] }),
}
