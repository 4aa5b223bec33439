import { parseSmarthostReports } from '../../mail-back/smarthost-report/parse-smarthost-reports.ts'
import { templateWork } from '../../mail/template/template-work.ts'
import { parseJson } from '../../platform/parse-json.ts'

/** What a large request may need, and what takes long only there. Pure; what is given and returned crosses threads. */
export const largeWork = {
  parseJson: (bytes: Uint8Array): unknown => parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
  parseSmarthostReports,
  ...templateWork,
}

export type LargeWork = typeof largeWork

/** A call for the thread. */
export interface LargeJob {
  name: keyof LargeWork
  given: unknown[]
}
